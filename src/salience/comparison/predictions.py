"""What the predictions of several seeds say together: reliability, confusions, and texts that methods disagree on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from salience.models.problem import HALF
from salience.scores.metrics import equal_mass_intervals

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


# What the predictions of several seeds say together where a text can have several labels.


def label_reliability(probabilities: np.ndarray, labels: np.ndarray, bins: int = BINS) -> list[Bin]:
    """The bins of a reliability diagram of all decisions about labels, pooled over seeds.

    The confidence is the probability of a label, and the accuracy the share of the texts that have it, as for a binary
    classifier and as in the calibration error.

    Args:
        probabilities: (S, N, C).
        labels: (N, C), 0 and 1.
        bins: number of bins.
    """
    applies = np.broadcast_to(labels == 1, probabilities.shape)
    return bins_of(probabilities.ravel().astype(float), applies.ravel(), bins)


def label_votes(probabilities: np.ndarray) -> np.ndarray:
    """How many seeds give each label to each test row (N, C), from probabilities (S, N, C)."""
    return (probabilities >= HALF).sum(0)


def label_majority(probabilities: np.ndarray) -> np.ndarray:
    """The labels that most seeds give to each test row (N, C) bool.

    Where half of the seeds give a label, it is given if its mean probability is at least 0.5.

    Args:
        probabilities: (S, N, C).
    """
    twice, seeds = 2 * label_votes(probabilities), len(probabilities)
    return (twice > seeds) | ((twice == seeds) & (probabilities.mean(0) >= HALF))


def label_disagreement(baseline: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    """How far the predictions of any method are from the baseline's, for each test row (N,), from 0 to 1.

    It is 0 where no majority differs from the baseline's in any label. Elsewhere it is the largest share of seeds by
    which the votes of such a method differ about one label.

    Args:
        baseline: its probabilities (S, N, C).
        others: those of the other methods, each (S, N, C).
    """
    return distances(baseline, others).max(1)


def contested_labels(baseline: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    """The number of the label about which the methods differ most, for each test row (N,); arguments as above."""
    return distances(baseline, others).argmax(1)


def distances(baseline: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    """`label_disagreement` about each label (N, C): 0 where no majority differs about it."""
    votes, expected = label_votes(baseline), label_majority(baseline)
    found = [
        np.where(label_majority(other) != expected, np.abs(label_votes(other) - votes) / len(other), 0.0)
        for other in others
    ]
    return np.max([np.zeros(expected.shape), *found], axis=0)


def chosen_labels(probabilities: np.ndarray, row: int, names: list[str]) -> tuple[str, int]:
    """The labels that most seeds give to a test row, in words, and the number of seeds that give exactly these.

    Args:
        probabilities: (S, N, C).
        row: its number, from 0.
        names: of the labels (C,).
    """
    found = label_majority(probabilities)[row]
    seeds = ((probabilities[:, row] >= HALF) == found).all(1).sum()
    return set_in_words(found, names), int(seeds)


def set_in_words(chosen: np.ndarray, names: list[str]) -> str:
    """A set of labels, given as (C,) 0 and 1: 'joy, fear', or 'no label'."""
    return ", ".join(names[number] for number in np.flatnonzero(chosen)) or "no label"


# How the predictions of several seeds are summed up: of one label for each text, or of several.


def chosen_class(probabilities: np.ndarray, row: int, names: list[str]) -> tuple[str, int]:
    """The class that most seeds predict for a test row, and their number, as `chosen_labels`."""
    of_row = probabilities[:, row : row + 1]
    number = int(majority(of_row)[0])
    return names[number], int(votes(of_row)[0, number])


@dataclass(frozen=True)
class SummingUp:
    """The functions of probabilities (S, N, C) and labels.

    Attributes:
        reliability: the bins of a reliability diagram, of labels too.
        confusion: the mean confusion matrix (C, C), of labels too; None where labels do not exclude each other.
        disagreement: how far other methods are from the baseline, for each row (N,).
        contested: the number of the label about which they differ most (N,); None where a text has one label.
        chosen: what most seeds predict for a row, in words, and the number of these seeds.
        right: the right label or labels of a row, in words, of the row's labels and all names.
    """

    reliability: Callable[[np.ndarray, np.ndarray], list[Bin]]
    confusion: Callable[[np.ndarray, np.ndarray], np.ndarray] | None
    disagreement: Callable[[np.ndarray, list[np.ndarray]], np.ndarray]
    contested: Callable[[np.ndarray, list[np.ndarray]], np.ndarray] | None
    chosen: Callable[[np.ndarray, int, list[str]], tuple[str, int]]
    right: Callable[[np.ndarray, list[str]], str]


OF_ONE = SummingUp(
    reliability, mean_confusion, disagreement, None, chosen_class, lambda label, names: names[int(label)]
)
OF_SEVERAL = SummingUp(label_reliability, None, label_disagreement, contested_labels, chosen_labels, set_in_words)


def summing_up(labels: np.ndarray) -> SummingUp:
    """The functions for labels: class numbers (N,), or 0 and 1 (N, C)."""
    return OF_SEVERAL if labels.ndim == 2 else OF_ONE
