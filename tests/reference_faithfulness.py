"""Metrics of explanations by slow loops written from the papers: one text, one call of the classifier at a time.

A text is a list of words, and what is left of it is joined by spaces and tokenised anew; nothing is shared with
`salience.faithfulness`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

import numpy as np

Predict = Callable[[list[str]], np.ndarray]  # a text's words -> probabilities (C,)
BINS = ("1", "5", "10", "20", "50")  # percent


def top(scores: Sequence[float], count: int) -> set[int]:
    """The places of the highest scores; among equal ones the first places."""
    return set(sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:count])


def without(words: list[str], places: set[int]) -> list[str]:
    return [word for place, word in enumerate(words) if place not in places]


def only(words: list[str], places: set[int]) -> list[str]:
    return [word for place, word in enumerate(words) if place in places]


def _mean_over_bins(predict: Predict, words: list[str], scores: Sequence[float], part: Callable) -> float:
    total = 0.0
    for percent in BINS:
        rationale = top(scores, ceil(int(percent) * len(words) / 100))
        whole = predict(words)
        j = int(whole.argmax())
        total += float(whole[j]) - float(predict(part(words, rationale))[j])
    return total / len(BINS)


def comprehensiveness(predict: Predict, words: list[str], scores: Sequence[float]) -> float:
    """DeYoung et al. (2020): m(x)_j - m(x without r_k)_j, the mean over the bins k."""
    return _mean_over_bins(predict, words, scores, without)


def sufficiency(predict: Predict, words: list[str], scores: Sequence[float]) -> float:
    """DeYoung et al. (2020): m(x)_j - m(r_k)_j, the mean over the bins k."""
    return _mean_over_bins(predict, words, scores, only)


def aopc(predict: Predict, words: list[str], scores: Sequence[float], most: int) -> float:
    """Samek et al. (2016): 1 / (L + 1) sum_{k=0..L} f(x^(0)) - f(x^(k)), in percentage points."""
    whole = predict(words)
    j = int(whole.argmax())
    drops = [float(whole[j]) - float(predict(without(words, top(scores, k)))[j]) for k in range(most + 1)]
    return 100 * sum(drops) / (most + 1)


def decision_flip(predict: Predict, words: list[str], scores: Sequence[float], most: int) -> int:
    """Serrano and Smith (2019): words removed from the top until the decision flips; `most` + 1 if it never does."""
    first = int(predict(words).argmax())
    for k in range(most + 1):
        if int(predict(without(words, top(scores, k))).argmax()) != first:
            return k
    return most + 1


def loo_tau(predict: Predict, words: list[str], scores: Sequence[float]) -> float:
    """Jain and Wallace (2019): Kendall's tau-b with ln p(class | text) - ln p(class | text without the word)."""
    whole = predict(words)
    j = int(whole.argmax())
    drops = [np.log(whole[j]) - np.log(predict(without(words, {place}))[j]) for place in range(len(words))]
    concordant = ties_scores = ties_drops = 0
    pairs = [(one, other) for one in range(len(words)) for other in range(one)]
    for one, other in pairs:
        signs = np.sign(scores[one] - scores[other]), np.sign(drops[one] - drops[other])
        concordant += signs[0] * signs[1]
        ties_scores += signs[0] == 0
        ties_drops += signs[1] == 0
    scale = np.sqrt(float((len(pairs) - ties_scores) * (len(pairs) - ties_drops)))
    return float(concordant / scale) if scale else float("nan")
