"""Thresholds of labels: the probability from which on a label is predicted, where a text can have several.

The threshold of each label is the one with the highest F1 on rows that the model has not seen. The F1 of a label
depends on its own threshold only, so these thresholds maximise macro-F1, too. A threshold that fits few rows is
chance: a label with fewer than `LEAST` rows keeps the threshold 0.5.
"""

from __future__ import annotations

import numpy as np

from salience.inference.classifier import HALF
from salience.training.temperature import half_of_rows

LEAST = 5  # rows of a label from which on it has a threshold of its own; chosen once and not tuned


def best_threshold(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """The threshold with the highest F1 of one label, between two probabilities; of equally good ones, nearest to 0.5.

    Args:
        probabilities: (N,) of the label.
        labels: (N,), 0 and 1, of which one is 1 at least.
    """
    order = np.argsort(-probabilities, kind="stable")
    sorted_values = probabilities[order].astype(float)
    count = np.arange(1, len(order) + 1)  # of predicted rows
    f1 = 2 * np.cumsum(labels[order]) / (count + labels.sum())
    following = np.append(sorted_values[1:], 0.0)
    possible = sorted_values > following  # equal probabilities are predicted together
    best = np.flatnonzero(possible & (f1 >= f1[possible].max() - 1e-12))
    middle = (sorted_values[best] + following[best]) / 2
    return float(middle[np.abs(middle - HALF).argmin()])


def find_label_thresholds(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The thresholds of C labels (C,).

    Args:
        probabilities: (N, C) of rows that the model has not seen.
        labels: (N, C), 0 and 1.
    """
    return np.array([
        best_threshold(probabilities[:, number], labels[:, number])
        if labels[:, number].sum() >= LEAST and (probabilities[:, number] > 0).any() else HALF
        for number in range(labels.shape[1])
    ])  # fmt: skip


def cross_decided(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> np.ndarray:
    """Decisions (N, C) bool: each half of the rows by the thresholds of the other half, so that no row decides itself.

    Args:
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
        groups: (N,) the group of each row, which is in one half; None for rows that are independent.
        seed: of the halves.
    """
    first = half_of_rows(len(labels) if groups is None else groups, seed)
    decided = np.zeros(labels.shape, bool)
    for rows in (first, ~first):
        if rows.any():
            decided[rows] = probabilities[rows] >= find_label_thresholds(probabilities[~rows], labels[~rows])
    return decided
