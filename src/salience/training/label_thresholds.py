"""Thresholds of labels: the probability from which on a label is predicted, where a text can have several.

The threshold of each label is the one with the highest F1 on rows that the model has not seen. The F1 of a label
depends on its own threshold only, so these thresholds maximise macro-F1, too. A threshold that fits few rows is
chance: a label with fewer than `LEAST` rows keeps the threshold 0.5. All labels keep it unless their thresholds help
on rows that have not chosen them, see `thresholds_help`.
"""

from __future__ import annotations

import numpy as np

from salience.models.thresholds import HALF
from salience.training.label_metrics import decision_scores
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


def thresholds_help(decided: np.ndarray, probabilities: np.ndarray, labels: np.ndarray) -> bool:
    """Whether thresholds are better than 0.5: one of micro-F1 and macro-F1 is higher with them, and none is lower.

    Args:
        decided: (N, C) bool, cross-fitted decisions.
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
    """
    theirs, usual = (decision_scores(each, labels) for each in (decided, probabilities >= HALF))
    gains = [theirs[name] - usual[name] for name in ("micro_f1", "macro_f1")]
    return min(gains) >= 0 and max(gains) > 0


def chosen_decisions(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> tuple[np.ndarray, bool]:
    """The decisions (N, C) bool on rows that the model has not seen, and whether thresholds of the labels make them.

    They are those of `cross_decided` if these thresholds help, and otherwise those at 0.5.

    Args:
        probabilities, labels, groups, seed: as of `cross_decided`.
    """
    decided = cross_decided(probabilities, labels, groups, seed)
    helps = thresholds_help(decided, probabilities, labels)
    return (decided if helps else probabilities >= HALF), helps


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
    return probabilities >= cross_thresholds(probabilities, labels, groups, seed)


def cross_thresholds(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> np.ndarray:
    """The thresholds (N, C) of `cross_decided`, whose arguments it has: of each row those of the other half."""
    first = half_of_rows(len(labels) if groups is None else groups, seed)
    thresholds = np.full(labels.shape, HALF)
    for rows in (first, ~first):
        if rows.any():
            thresholds[rows] = find_label_thresholds(probabilities[~rows], labels[~rows])
    return thresholds
