"""How Jain and Wallace (NAACL 2019, arXiv:1902.10186) prepare texts, whom Sun and Lu (ACL 2020) follow.

Their public notebooks tell what the paper leaves out. Here it is done to the sets of the hub: to 20 Newsgroups without
headers, signatures and quotes, which scikit-learn has removed there, and to IMDB.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sklearn.model_selection import train_test_split

SPLIT_SEED = 13478  # of their splits
SHORT = 400  # words: longer reviews are left out

Rows = list[dict[str, Any]]
Parts = tuple[Rows, Rows, Rows]  # training, validation, test
Preparation = Callable[[Rows, Rows], Parts]  # of training and test rows


def newsgroup_words(text: str) -> str:
    """A message in lower case: words with a digit become "qqq", and most punctuation disappears.

    The tokens of the text, words apart from punctuation marks, are joined by spaces. Then each run of characters that
    belong to no word becomes its last character: a mark inside a word stays, between spaces, and all others go.
    """
    tokens = re.findall(r"\w+(?:'\w+)*|[^\w\s]", text)
    joined = " ".join("qqq" if any(map(str.isdigit, token)) else token.lower() for token in tokens)
    return " ".join(re.sub(r"\W+", lambda run: f" {run.group()[-1]} ", joined).split())


def newsgroups(training: int, validation: int, test: int) -> Preparation:
    """Prepares messages, and splits all of them together into parts of so many rows, stratified."""

    def prepare(*parts: Rows) -> Parts:
        messages = [row | {"text": newsgroup_words(row["text"])} for part in parts for row in part]
        rest, tested = stratified([row for row in messages if row["text"]], test)
        rest, held_out = stratified(rest, validation)
        return rest[:training], held_out, tested

    return prepare


def short_reviews(held_out: float, test: int) -> Preparation:
    """Leaves out long reviews, holds a share of the training rows out, and draws so many test rows, stratified."""

    def prepare(*parts: Rows) -> Parts:
        training, tested = (
            [row for row in part if len(re.findall(r"\w+", row["text"])) < SHORT]
            for part in ([row | {"text": one_line(row["text"])} for row in part] for part in parts)
        )
        training, validation = stratified(training, round(held_out * len(training)))
        return training, validation, stratified(tested, test)[1]

    return prepare


def one_line(text: str) -> str:
    """A text of the web without its line breaks."""
    return re.sub(r"<br\s*/?>|\s+", " ", text)


def stratified(rows: Rows, drawn: int) -> tuple[Rows, Rows]:
    """The rows that are left, and those that are drawn."""
    labels = [row["label"] for row in rows]
    left, taken = train_test_split(rows, test_size=drawn, random_state=SPLIT_SEED, stratify=labels)
    return left, taken
