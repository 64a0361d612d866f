"""Thresholds above which predictions have a given precision, with certainty: learn then test.

Angelopoulos, Bates, Candès, Jordan and Lei (2021), arXiv:2110.01052: the hypothesis that the precision above a
threshold is too low is tested for one candidate after the other, in a fixed sequence from the highest threshold down,
to the first one that is not rejected. This controls the probability that any true hypothesis is rejected. The test is
the exact one of a binomial proportion, whose interval is that of Clopper and Pearson (1934), doi
10.1093/biomet/26.4.404. Selective classification with such a guarantee is that of Geifman and El-Yaniv (2017),
arXiv:1705.08500.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom

CERTAINTY = 0.95
FIRST = 4  # the first candidate decides a quarter of the rows
OWN = 20  # a class has a threshold of its own from this multiple of `least_rows` on: see bench/own_thresholds.py


def least_rows(target: float, error: float = 1 - CERTAINTY) -> int:
    """The smallest number of rows that show a precision of `target` if all of them are right: target^n <= error."""
    return math.ceil(math.log(error) / math.log(target))


def lowest_threshold(
    confidence: np.ndarray, right: np.ndarray, target: float, error: float, first: int | None = None
) -> float:
    """The lowest threshold that passes, for N predictions.

    Candidate k decides the k rows of highest confidence, so its threshold is the confidence of the next row, or 0.
    Given that threshold, the k rows are independent draws from all texts above it, and the number of right ones is
    binomial. Candidates are tested in the order of k, from `first` rows on, or from as many as can pass at all, to the
    first that fails. Where the order begins does not depend on which rows are right. With probability
    1 - error, the precision above the returned threshold is at least the target, if precision does not fall as the
    threshold rises.

    Args:
        confidence: (N,) the probability of the predicted class.
        right: (N,) whether it is the label.
        target: the precision, below 1.
        error: the probability with which the precision may be below the target.
        first: the number of rows of the first candidate; None for a quarter of them.

    Returns:
        A threshold that the confidence of decided texts exceeds; 1, which none exceeds, if no candidate passes.
    """
    order = np.argsort(-confidence, kind="stable")
    rows = len(order)
    first = -(-rows // FIRST) if first is None else first
    decided = np.arange(max(least_rows(target, error), first), rows + 1)
    below = np.append(confidence[order], 0.0)  # the next confidence after k rows, at k
    decided = decided[(decided == rows) | (below[decided] < below[decided - 1])]  # equal ones are decided together
    number_right = np.cumsum(right[order])[decided - 1]
    fails = binom.sf(number_right - 1, decided, target) > error
    passed = decided[: fails.argmax() if fails.any() else len(fails)]
    return float(below[passed[-1]]) if len(passed) else 1.0


def pools(predicted: np.ndarray, classes: int, enough: int) -> list[list[int]]:
    """The classes that share a threshold: each frequent one is alone, and all others are together.

    Classes are counted as predictions, so that nothing here depends on which rows are right.

    Args:
        predicted: (N,) class numbers.
        classes: number of classes.
        enough: the number of rows from which on a class is alone. If the others have fewer rows together, the least
            frequent class that is alone joins them.

    Returns:
        Lists of class numbers, the most frequent class first.
    """
    counts = np.bincount(predicted, minlength=classes)
    alone = [label for label in np.argsort(-counts, kind="stable").tolist() if counts[label] >= enough]
    others = sorted(set(range(classes)) - set(alone))
    while others and alone and counts[others].sum() < enough:
        others = sorted([*others, alone.pop()])
    return [*([label] for label in alone), *([others] if others else [])]


def find_thresholds(probabilities: np.ndarray, labels: np.ndarray, target: float) -> np.ndarray:
    """The thresholds of all classes (C,): with certainty 0.95, the precision of every pool is at least the target.

    The probability of an error is divided among the pools (Bonferroni). A precision that holds in each pool also holds
    among all decided texts. The threshold of a pool that does not reach the target is 1.

    Args:
        probabilities: (N, C), of independent rows that the models have not seen.
        labels: (N,), class numbers.
        target: the precision.
    """
    predicted, confidence = probabilities.argmax(1), probabilities.max(1).astype(float)
    found = pools(predicted, probabilities.shape[1], OWN * least_rows(target))
    thresholds = np.ones(probabilities.shape[1])
    for pool in found:
        rows = np.isin(predicted, pool)
        right = predicted[rows] == labels[rows]
        thresholds[pool] = lowest_threshold(confidence[rows], right, target, (1 - CERTAINTY) / len(found))
    return thresholds


def reachable_precision(probabilities: np.ndarray, labels: np.ndarray, target: float) -> float | None:
    """The highest precision below the target, in hundredths from 0.5 on, for which rows are decided; None if none is.

    Args:
        probabilities, labels, target: as of `find_thresholds`.
    """
    for hundredths in range(math.ceil(target * 100 - 1e-9) - 1, 49, -1):
        if (find_thresholds(probabilities, labels, hundredths / 100) < 1).any():
            return hundredths / 100
    return None


def one_row_of_each(groups: np.ndarray, seed: int) -> np.ndarray:
    """The places of one row of each group, drawn at random, in order: rows of one group are not independent.

    Args:
        groups: (N,) the group of each row.
        seed: of the draw.
    """
    order = np.random.default_rng(seed).permutation(len(groups))
    return np.sort(order[np.unique(groups[order], return_index=True)[1]])
