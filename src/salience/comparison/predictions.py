"""What the predictions of several seeds say together: reliability, confusions, and texts that methods disagree on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from salience.training.metrics import equal_mass_intervals

BINS = 10  # of a reliability diagram: small pictures have no room for more


@dataclass(frozen=True)
class Bin:
    """Predictions of similar confidence.

    Attributes:
        rows: number of predictions.
        confidence: the mean of their highest probabilities, from 0 to 1.
        accuracy: the share of them that is right, from 0 to 1.
    """

    rows: int
    confidence: float
    accuracy: float


def reliability(probabilities: np.ndarray, labels: np.ndarray, bins: int = BINS) -> list[Bin]:
    """The bins of a reliability diagram, pooled over seeds, the lowest confidence first.

    The bins hold equally many predictions each, as in `equal_mass_calibration_error`. Empty bins, which many equal
    confidences make, are left out. DeGroot and Fienberg (1983, doi 10.2307/2987588).

    Args:
        probabilities: (S, N, C).
        labels: class numbers (N,).
        bins: number of bins.
    """
    confidence = probabilities.max(2).ravel().astype(float)
    right = (probabilities.argmax(2) == labels).ravel()
    return bins_of(confidence, right, bins)


def bins_of(confidence: np.ndarray, right: np.ndarray, bins: int) -> list[Bin]:
    """Bins that hold equally many predictions each, from their confidences (M,) and whether each is right (M,)."""
    interval = equal_mass_intervals(confidence, bins)
    rows = np.bincount(interval, minlength=bins)
    sums = np.bincount(interval, confidence, bins), np.bincount(interval, right, bins)
    return [
        Bin(int(rows[each]), float(sums[0][each] / rows[each]), float(sums[1][each] / rows[each]))
        for each in np.flatnonzero(rows)
    ]


def mean_confusion(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Number of test rows of each label (rows) with each prediction (columns), a mean over seeds (C, C).

    Args:
        probabilities: (S, N, C).
        labels: class numbers (N,).
    """
    seeds, _, classes = probabilities.shape
    pairs = labels * classes + probabilities.argmax(2)
    return np.bincount(pairs.ravel(), minlength=classes**2).reshape(classes, classes) / seeds


def votes(probabilities: np.ndarray) -> np.ndarray:
    """How many seeds predict each class for each test row (N, C).

    Args:
        probabilities: (S, N, C).
    """
    return np.eye(probabilities.shape[2], dtype=int)[probabilities.argmax(2)].sum(0)


def majority(probabilities: np.ndarray) -> np.ndarray:
    """The class that most seeds predict for each test row (N,).

    Of classes with equally many seeds, it is the one with the higher mean probability.

    Args:
        probabilities: (S, N, C).
    """
    return (votes(probabilities) + 0.5 * np.nan_to_num(probabilities.mean(0))).argmax(1)


def disagreement(baseline: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    """How far the predictions of any method are from the baseline's, for each test row (N,), from 0 to 1.

    It is 0 where no majority differs from the baseline's. Elsewhere it is the largest share of seeds by which the
    votes of such a method differ (the total variation distance of the two distributions of votes).

    Args:
        baseline: its probabilities (S, N, C).
        others: those of the other methods, each (S, N, C). There are none where references alone are compared.
    """
    own, expected = votes(baseline), majority(baseline)
    distances = [
        np.where(majority(other) != expected, np.abs(votes(other) - own).sum(1) / (2 * len(other)), 0.0)
        for other in others
    ]
    return np.max([np.zeros(len(expected)), *distances], axis=0)
