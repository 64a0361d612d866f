"""Rows whose label is likely wrong (Northcutt et al., 2021, Confident Learning, arXiv:1911.00068, JAIR 70).

The rule is "prune by noise rate" (Section 3.2, Method 4). It needs the probabilities of models that were not trained
on the rows, and nothing of the models themselves. Notation: N rows with given labels i; C classes; p(j) is the
probability of class j for a row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

ROUNDING = 1e-6  # by which a mean of equal probabilities may differ from them


def class_thresholds(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """t_j (C,): the mean of p(j) over the rows with the given label j (Eq. 2); infinite for a class without rows.

    Args:
        labels: (N,) class numbers.
        probabilities: (N, C).
    """
    classes = range(probabilities.shape[1])
    own = [probabilities[labels == number, number] for number in classes]
    return np.array([values.mean(dtype=float) if len(values) else np.inf for values in own])


def confident_joint(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """How many rows with the given label i are confidently of class j (C, C) int64 (Eq. 1).

    A row is confidently of the most probable one of the classes with p(j) >= t_j, and of none if there is no such
    class. As in the authors' code, every class has at least one row on the diagonal.

    Args:
        labels: (N,) class numbers.
        probabilities: (N, C).
    """
    confident = probabilities >= class_thresholds(labels, probabilities) - ROUNDING
    guessed = np.where(confident, probabilities, -1).argmax(1)
    counted = confident.any(1)
    joint = np.zeros((probabilities.shape[1],) * 2, np.int64)
    np.add.at(joint, (labels[counted], guessed[counted]), 1)
    np.fill_diagonal(joint, joint.diagonal().clip(min=1))
    return joint


def estimated_counts(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The estimated number of rows with the given label i that are of class j (C, C) int64 (Eq. 3, times N).

    Each line of the confident joint is scaled to the number of rows with its label, and rounded by largest remainders.

    Args:
        labels: (N,) class numbers.
        probabilities: (N, C).
    """
    joint = confident_joint(labels, probabilities)
    totals = np.bincount(labels, minlength=len(joint))
    scaled = joint / joint.sum(1, keepdims=True) * totals[:, None]
    counts = np.floor(scaled).astype(np.int64)
    for line, rest, missing in zip(counts, scaled - counts, totals - counts.sum(1), strict=True):
        line[np.argsort(-rest, kind="stable")[:missing]] += 1
    return counts


def wrongness(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The probability of the most probable other class minus that of the given label (N,), from -1 to 1.

    This is the normalised margin of the paper (Section 3.2) with the sign turned: the largest is the least likely
    label.

    Args:
        labels: (N,) class numbers.
        probabilities: (N, C).
    """
    places = np.arange(len(labels))
    others = probabilities.copy()
    others[places, labels] = -np.inf
    return others.max(1) - probabilities[places, labels]


def likely_wrong(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Whether the label of each row is likely wrong (N,) bool.

    For each pair of classes i and j, the rows with the label i and the largest p(j) - p(i) are, as many as are
    estimated. A row whose label is the most probable class is not, as in the authors' code.

    Args:
        labels: (N,) class numbers.
        probabilities: (N, C), each row by a model that was not trained on it.
    """
    counts = estimated_counts(labels, probabilities)
    wrong = np.zeros(len(labels), bool)
    for given, true in zip(*np.nonzero(counts), strict=True):
        if given != true:
            rows = np.flatnonzero(labels == given)
            margin = probabilities[rows, true] - probabilities[rows, given]
            wrong[rows[np.argsort(-margin, kind="stable")[: counts[given, true]]]] = True
    return wrong & (wrongness(labels, probabilities) > 0)


def of_each_label(labels: np.ndarray, probabilities: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Each of several labels as two classes, "no" and "yes", whose labels can be judged by themselves.

    Args:
        labels: (N, C), 0 and 1.
        probabilities: (N, C), each of a label by itself.

    Yields:
        The number of a label, class numbers 0 and 1 (N,), and the probabilities of both (N, 2).
    """
    for number, (given, yes) in enumerate(zip(labels.T, probabilities.T, strict=True)):
        yield number, given, np.stack([1 - yes, yes], axis=1)
