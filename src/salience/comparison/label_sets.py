"""What the predictions of several seeds say together where a text can have several labels.

As `salience.comparison.predictions`, whose predictions are classes; here they are sets of labels. A seed gives a text
the labels whose probability is at least 0.5.
"""

from __future__ import annotations

import numpy as np

from salience.comparison.predictions import BINS, Bin, bins_of
from salience.models.thresholds import HALF


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
