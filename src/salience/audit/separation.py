"""Classes that a model cannot tell apart, by the area under the ROC curve of two classes (Hand and Till, 2001).

A Simple Generalisation of the Area Under the ROC Curve for Multiple Class Classification Problems, Machine Learning
45, doi 10.1023/A:1010920819831, Section 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LOWEST = 0.75  # areas below this are reported: one pair of rows in four is in the wrong order
LEAST = 10  # rows that each class needs; the area of fewer is chance


class ClosePair(NamedTuple):
    """Two classes that are hard to tell apart.

    Attributes:
        classes: their numbers, the lower one first.
        area: A of Hand and Till, from 0 to 1; 0.5 is chance.
        confused: the places of the rows of one that are predicted as the other, in order.
    """

    classes: tuple[int, int]
    area: float
    confused: list[int]


def close_pairs(labels: np.ndarray, probabilities: np.ndarray) -> list[ClosePair]:
    """The pairs of classes with an area below `LOWEST`, the lowest first.

    Only pairs of which a row is predicted as the other class are looked at.

    Args:
        labels: (N,) class numbers.
        probabilities: (N, C), each row by a model that was not trained on it.
    """
    predicted = probabilities.argmax(1)
    rows = np.bincount(labels, minlength=probabilities.shape[1])
    wrong = np.flatnonzero(predicted != labels)
    confused: dict[tuple[int, int], list[int]] = {}
    for place, label, guess in zip(wrong.tolist(), labels[wrong].tolist(), predicted[wrong].tolist(), strict=True):
        confused.setdefault((min(label, guess), max(label, guess)), []).append(place)
    found = [
        ClosePair(pair, area_of(labels, probabilities, *pair), places)
        for pair, places in confused.items()
        if min(rows[list(pair)]) >= LEAST
    ]
    return sorted(
        (pair for pair in found if pair.area < LOWEST),
        key=lambda pair: (pair.area, pair.classes),
    )


def area_of(labels: np.ndarray, probabilities: np.ndarray, one: int, other: int) -> float:
    """A(i, j) = (A(i | j) + A(j | i)) / 2, where A(i | j) is the share of pairs of rows that p(i) orders rightly.

    Args:
        labels: (N,) class numbers.
        probabilities: (N, C).
        one, other: the numbers of two classes with rows.
    """
    from sklearn.metrics import roc_auc_score

    rows = np.flatnonzero((labels == one) | (labels == other))
    areas = [roc_auc_score(labels[rows] == number, probabilities[rows, number]) for number in (one, other)]
    return float(np.mean(areas))
