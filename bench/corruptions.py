"""Corrupted texts, which show how much a classifier's scores depend on clean writing: typing errors, missing words.

Every text is corrupted with random numbers of its own, which depend on the seed and on the number of its row only. So
all classifiers read the same corrupted texts, whichever rows are tested and in which order. A corruption at a higher
rate includes the one at a lower rate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from salience.classify import TextClassifier
from salience.data.task import Task
from salience.data.texts import Texts
from salience.training.measures import Column

WORD = re.compile(r"[^\W\d_]{3,}")  # three and more letters: shorter words are hardly recognised with an error
KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def _neighbours() -> dict[str, str]:
    """Each letter to the letters on adjacent keys. A row of keys lies between the keys of the row above it."""
    found = {}
    for row, keys in enumerate(KEYBOARD):
        for column, key in enumerate(keys):
            places = [(row, column - 1), (row, column + 1), (row - 1, column), (row - 1, column + 1),
                      (row + 1, column - 1), (row + 1, column)]  # fmt: skip
            found[key] = "".join(
                KEYBOARD[r][c] for r, c in places if 0 <= r < len(KEYBOARD) and 0 <= c < len(KEYBOARD[r])
            )
    return found


NEIGHBOURS: Mapping[str, str] = _neighbours()


def typos(text: str, rate: float, generator: np.random.Generator) -> str:
    """The text with a typing error in some of its words.

    A word is a run of three and more letters. Each gets one error with the probability `rate`. Its kind is drawn from
    those that change the word: two adjacent letters are swapped, a letter is left out, the letter of an adjacent key
    (QWERTY) is inserted after a letter, or a letter is doubled. The first letter stays. Short words, inner letters and
    these kinds are similar to those of Pruthi et al. (2019), arXiv:1905.11268, who swap, drop, add and replace letters
    and leave the last letter too. TextFlint (Wang et al., 2021, arXiv:2103.11441) draws inserted letters from all
    letters; nlpaug has a default of 0.3 for the rate.

    Args:
        rate: from 0 to 1.
        generator: every word takes four numbers of it, so the errors at a rate are also made at any higher rate.
    """

    def written(match: re.Match[str]) -> str:
        chance, *draws = generator.random(4)
        return mistyped(match[0], *draws) if chance < rate else match[0]

    return WORD.sub(written, text)


def mistyped(word: str, kind: float, place: float, key: float) -> str:
    """A word with one typing error, see `typos`.

    Args:
        word: at least two letters.
        kind: from 0 to below 1, chooses among the kinds that change the word.
        place: likewise, among the places of that kind.
        key: likewise, among the adjacent keys.
    """
    letters = range(len(word))
    places = {
        "swap": [i for i in letters[1:-1] if word[i] != word[i + 1]],
        "delete": list(letters[1:]),
        "insert": [i for i in letters if word[i].lower() in NEIGHBOURS],
        "double": list(letters),
    }
    name = chosen([kind for kind, possible in places.items() if possible], kind)
    i = chosen(places[name], place)
    if name == "swap":
        return word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    if name == "delete":
        return word[:i] + word[i + 1 :]
    added = word[i]
    if name == "insert":
        added = chosen(NEIGHBOURS[word[i].lower()], key)
        added = added.upper() if word[i].isupper() else added
    return word[: i + 1] + added + word[i + 1 :]


def chosen(items, draw: float):
    """The item at the place `draw`, a number from 0 to below 1, of a sequence."""
    return items[int(draw * len(items))]


def dropped_words(text: str, rate: float, generator: np.random.Generator) -> str:
    """The text without some of its words, never without all of them.

    Words are separated by white space. Each is left out with the probability `rate`; if that were all of them, the
    one that is left out last as the rate grows stays. Random deletion of Wei and Zou (2019), arXiv:1901.11196, who
    also keep one word, drawn at random.

    Args:
        rate: from 0 to 1.
        generator: every word takes one number of it.
    """
    words = re.findall(r"\S+\s*", text)  # with the space after each
    chances = generator.random(len(words))
    kept = chances >= min(rate, chances.max(initial=0))
    if kept.all():
        return text
    return "".join(word for word, stays in zip(words, kept, strict=True) if stays).strip()


Corruption = Callable[[str, float, np.random.Generator], str]
CORRUPTIONS: dict[str, Corruption] = {"typos": typos, "dropped-words": dropped_words}


def corrupted(texts: Texts, corruption: str, rate: float, seed: int) -> Texts:
    """The texts with a corruption; labels and row numbers stay. Marks of words are left out, as words may be missing.

    Args:
        corruption: a key of `CORRUPTIONS`.
        rate: the share of words that are corrupted, on average, from 0 to 1.
        seed: with the number of a row it determines the corruption of that row.
    """
    rows = texts.rows or range(1, len(texts) + 1)
    generators = [np.random.default_rng([seed, row]) for row in rows]
    apply = CORRUPTIONS[corruption]

    def changed(column: list[str]) -> list[str]:
        return [apply(text, rate, generator) for text, generator in zip(column, generators, strict=True)]

    # The second texts go on with the generators of the first.
    first = changed(texts.texts)
    second = None if texts.second is None else changed(texts.second)
    return replace(texts, texts=first, second=second, marks=None)


@dataclass(frozen=True)
class Robustness:
    """A measure of `compare`: the accuracy on the test rows with each corruption, the same for every run."""

    rate: float = 0.1

    @property
    def settings(self) -> dict[str, Any]:
        """The share of words that are corrupted."""
        return {"rate": self.rate}

    @property
    def columns(self) -> dict[str, Column]:
        """The accuracies, in percent."""
        table = "accuracy on corrupted test rows"
        return {
            f"accuracy_{name.replace('-', '_')}": Column("accuracy", words, "%", 100, True, table)
            for name, words in (("typos", "typing errors"), ("dropped-words", "words left out"))
        }

    def __call__(self, classifier: TextClassifier, task: Task, seed: int) -> dict[str, Any]:
        """The accuracies, from 0 to 1, and the settings. The seed has no effect."""
        found = dict(self.settings)
        for name in CORRUPTIONS:
            predicted = classifier.predict_proba(corrupted(task.test, name, self.rate, 0)).argmax(1)
            found[f"accuracy_{name.replace('-', '_')}"] = float((predicted == task.test.known_labels).mean())
        return found
