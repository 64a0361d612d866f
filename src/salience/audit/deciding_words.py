"""Words by which a classifier decides: those that carry a large part of the explanations of a label.

A global explanation of the labelled rows. Each text is explained for the label that it has, by integrated gradients
(Sundararajan, Taly and Yan, 2017, arXiv:1703.01365), whose scores have a sign. The part of a word in a text is its
score, divided by the sum of the absolute scores of all words of the text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from salience.audit.association import LEAST
from salience.audit.giveaways import SHARE
from salience.classify import TextClassifier
from salience.data.texts import Texts
from salience.explainers.class_words import POINTS, finite_scores, scores_by_word
from salience.explainers.explain import explain_texts
from salience.explainers.explanation import Explanation
from salience.explainers.integrated import IntegratedGradients

PART = 0.2  # smallest mean part of a word
EXPLAINED = 200  # rows that are explained
NAME = "integrated-gradients"


class DecidingWord(NamedTuple):
    """A word by which a classifier decides for a label.

    Attributes:
        word: in lower case, without punctuation around it.
        label: the number of the label.
        part: the mean part of the word in the texts of the label that have it, from -1 to 1.
        share: of the explained texts of the label that have the word.
        rows: the numbers of these texts, in order.
    """

    word: str
    label: int
    part: float
    share: float
    rows: list[int]


def explained_rows(classifier: TextClassifier, texts: Texts, seed: int) -> Iterable[Explanation]:
    """The explanations of at most `EXPLAINED` of N labelled texts, drawn at random, for their own labels."""
    drawn = np.sort(np.random.default_rng(seed).permutation(len(texts))[:EXPLAINED])
    return explain_texts(classifier, texts.take(drawn), {NAME: IntegratedGradients(POINTS)}, target="gold")


def deciding_words(explanations: Iterable[Explanation]) -> list[DecidingWord]:
    """The words with a mean part of at least `PART` that at least `SHARE` of the texts of a label, and 6 texts, have.

    Those with the largest part come first.

    Args:
        explanations: of texts for the labels that they have, by `NAME`, with the numbers of their rows.
    """
    texts: dict[int, int] = defaultdict(int)
    found: dict[tuple[int, str], dict[int, float]] = defaultdict(dict)
    for explanation in explanations:
        assert explanation.row is not None
        texts[explanation.target] += 1
        whole = float(np.abs(finite_scores(explanation, NAME)).sum()) or 1.0
        for word, score in scores_by_word(explanation, NAME).items():
            found[explanation.target, word][explanation.row] = score / whole
    words = [
        DecidingWord(word, label, float(np.mean([*parts.values()])), len(parts) / texts[label], sorted(parts))
        for (label, word), parts in found.items() if len(parts) > LEAST and len(parts) >= SHARE * texts[label]
    ]  # fmt: skip
    return sorted((word for word in words if word.part >= PART), key=lambda each: (-each.part, each.word, each.label))
