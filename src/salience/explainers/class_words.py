"""Which words speak for a class in general: the mean score of a word over many explained texts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from salience.data.words import plain_word
from salience.errors import InputError, one_line
from salience.explainers.explanation import Explanation

LEAST, EXPLAINED = 3, 200  # texts that a word must be in, and texts of a run that are explained at most
KEPT = "class_words.json"  # the words of a run, in its folder


class ClassWord(NamedTuple):
    """A plain word, its mean score over the texts that it is in, and the number of these."""

    word: str
    score: float
    texts: int


def words_by_class(
    explanations: Iterable[Explanation], explainer: str, most: int, least: int = LEAST
) -> dict[int, list[ClassWord]]:
    """The `most` words with the highest mean scores above 0 for each explained class, the highest first.

    Only words count that are in `least` of the texts in which the class is explained.
    """
    found: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for explanation in explanations:
        for word, score in scores_by_word(explanation, explainer).items():
            found[explanation.target][word].append(score)
    table = {}
    for target, words in sorted(found.items()):
        means = [ClassWord(word, float(np.mean(scores)), len(scores)) for word, scores in words.items()]
        speaking = [each for each in means if each.texts >= least and each.score > 0]
        table[target] = sorted(speaking, key=lambda each: (-each.score, each.word))[:most]
    return table


def scores_by_word(explanation: Explanation, explainer: str) -> dict[str, float]:
    """The score of each plain word of a text, the sum over its occurrences. Scores that are not numbers count as 0."""
    found: dict[str, float] = defaultdict(float)
    for name, score in zip(explanation.words, finite_scores(explanation, explainer).tolist(), strict=True):
        if word := plain_word(name):
            found[word] += score
    return found


def finite_scores(explanation: Explanation, explainer: str) -> np.ndarray:
    """The scores of the words (W,), those that are not numbers as 0."""
    return np.nan_to_num(explanation.scores[explainer], posinf=0, neginf=0)


@dataclass(frozen=True)
class KeptWords:
    """The words that speak for the classes of a run, as its report has found them."""

    explainer: str
    explained: int  # number of texts that were explained
    words: dict[str, list[ClassWord]]  # by label; a label without words may be missing

    def as_json(self) -> dict[str, Any]:
        words = {label: [word._asdict() for word in found] for label, found in self.words.items()}
        return {"explainer": self.explainer, "explained": self.explained, "words": words}


def read_kept_words(model: str | Path) -> KeptWords | None:
    """The words in the folder of a run; None if there are none, or if it is no folder."""
    file = Path(model).expanduser() / KEPT
    if not file.is_file():
        return None
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        words = {
            str(label): [ClassWord(str(each["word"]), float(each["score"]), int(each["texts"])) for each in found]
            for label, found in content["words"].items()
        }
        return KeptWords(str(content["explainer"]), int(content["explained"]), words)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        raise InputError(f"{file} is damaged ({reason}): salience report makes it again") from error
