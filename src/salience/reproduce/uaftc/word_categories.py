"""What a row of Figures 2 to 5 records of a trained model: scores of the categories of words.

A category is "neutral", or the number of a class as text: words that this class has more often (see
`salience.analysis.association`). Words of no category are left out.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score

from salience.analysis.association import NEUTRAL
from salience.analysis.token_scores import polarity_of
from salience.comparison.attention import Analysis

DRAWN = 300  # largest number of words of a category that is recorded for the pictures


def separation(analysis: Analysis) -> dict:
    """The size and the mean scores of each category, and how well attention separates it from the neutral words.

    Returns:
        "words", "attention", "polarity" and "median weight" by category; "area" by class, the area under the ROC
        curve, which is the probability that a word of the class has a higher attention score than a neutral one; and
        the alignment "|V^T W|".
    """
    category, attention = analysis.words.category, analysis.alone.attention.numpy()
    polarity, (weight, tested) = analysis.alone.polarity.numpy(), _weights(analysis)
    neutral = category == NEUTRAL
    values: dict = {"words": {}, "attention": {}, "polarity": {}, "median weight": {}, "area": {}}
    for number, key in _categories(analysis):
        chosen = category == number
        values["words"][key] = int(chosen.sum())
        values["attention"][key] = float(attention[chosen].mean())
        values["polarity"][key] = float(polarity_of(polarity, number)[chosen].mean())
        values["median weight"][key] = float(np.median(weight[chosen & tested]))
        if number != NEUTRAL:
            both = chosen | neutral
            values["area"][key] = float(roc_auc_score(chosen[both], attention[both]))
    return {**values, "|V^T W|": analysis.alignment}


def points(analysis: Analysis) -> dict[str, dict[str, list[float]]]:
    """What the pictures show of each category: "frequency", "attention", "polarity" and "weight" of some of its words.

    Frequencies are counted in the training texts. Weights are those of the words that occur in the test texts, so
    that their list may be shorter.
    """
    category, frequency = analysis.words.category, analysis.words.counts.sum(1)
    polarity = analysis.alone.polarity.numpy()
    weight, tested = _weights(analysis)
    values = {}
    for number, key in _categories(analysis):
        chosen = _thinned(category == number)
        scores = {"attention": analysis.alone.attention.numpy(), "polarity": polarity_of(polarity, number)}
        values[key] = {"frequency": frequency[chosen].tolist()} | {
            name: _rounded(score[chosen]) for name, score in scores.items()
        } | {"weight": _rounded(weight[_thinned((category == number) & tested)])}  # fmt: skip
    return values


def _categories(analysis: Analysis) -> list[tuple[int, str]]:
    """Number and key of every category that has words."""
    category = analysis.words.category
    return [
        (number, "neutral" if number == NEUTRAL else str(number))
        for number in sorted(set(category[category >= NEUTRAL].tolist()))
    ]


def _weights(analysis: Analysis) -> tuple[np.ndarray, np.ndarray]:
    """Mean attention weights (V,) in the test texts, or in the training texts if there are none, and whether each word
    occurs there (V,)."""
    scores = analysis.in_test or analysis.in_texts
    return scores.weight.numpy(), scores.occurrences.numpy() > 0


def _thinned(chosen: np.ndarray) -> np.ndarray:
    """The indices of the chosen words, evenly thinned out to at most `DRAWN`."""
    indices = np.flatnonzero(chosen)
    return indices[:: max(1, -(-len(indices) // DRAWN))]


def _rounded(values: np.ndarray) -> list[float]:
    """To four significant digits."""
    return [float(f"{value:.4g}") for value in values]
