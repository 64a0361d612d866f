"""Scores on labelled rows with 95 % intervals, also of those scores that metrics.json gives without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from salience.training.intervals import LEVEL, Interval, accuracy_interval, macro_f1_interval
from salience.training.metrics import BINS, equal_width_intervals, row_scores, scores

REPLICATES = 1000


class Score(NamedTuple):
    """A score.

    Attributes:
        value: of the score.
        interval: its 95 % interval; None where nothing varies.
    """

    value: float
    interval: Interval | None


def scores_of_rows(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> dict[str, Score]:
    """Accuracy, macro-F1, log loss and calibration error of some rows with their intervals, by name.

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.
        groups: (N,) the group of each row; None for rows that are independent.
        seed: of the bootstrap.
    """
    values, predicted = scores(probabilities, labels), probabilities.argmax(1)
    intervals = {
        "accuracy": accuracy_interval(labels, predicted, groups, seed),
        "macro_f1": macro_f1_interval(labels, predicted, groups, seed),
        "log_loss": log_loss_interval(probabilities, labels, groups, seed),
        "calibration_error": calibration_error_interval(probabilities, labels, groups, seed),
    }
    return {name: Score(values[name], interval) for name, interval in intervals.items()}


def log_loss_interval(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None, seed: int = 0
) -> Interval | None:
    """The interval of the log loss, see `mean_interval`.

    Args:
        probabilities, labels, groups, seed: as of `scores_of_rows`.
    """
    return mean_interval(row_scores(probabilities, labels)["log_loss"], groups, seed)


def mean_interval(values: np.ndarray, groups: np.ndarray | None, seed: int = 0) -> Interval | None:
    """The interval of a mean over rows: percentiles of a bootstrap over rows, or over groups.

    Args:
        values: (N,) of the rows.
        groups, seed: as of `scores_of_rows`.

    Returns:
        None if there is a single row or group.
    """
    found = [float((weights @ values) / weights.sum()) for weights in resampled(len(values), groups, seed)]
    return bounds(found) if found else None


def calibration_error_interval(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None, seed: int = 0
) -> Interval | None:
    """The interval of the calibration error, see `gap_interval`.

    Args:
        probabilities, labels, groups, seed: as of `scores_of_rows`.
    """
    confidence = probabilities.max(1).astype(float)
    return gap_interval(confidence[:, None], (probabilities.argmax(1) == labels)[:, None], groups, seed)


def gap_interval(
    confidence: np.ndarray, right: np.ndarray, groups: np.ndarray | None, seed: int = 0
) -> Interval | None:
    """The interval of a calibration error: a basic bootstrap over rows, or over groups, cut at 0 and 1.

    Chance makes the calibration error larger, of the rows and of every sample of them once more, so that percentiles
    would lie too high. The basic interval, from 2 e - q(97.5 %) to 2 e - q(2.5 %) with the error e of the rows and the
    quantiles q of the samples, takes this off again: Davison and Hinkley (1997), Bootstrap Methods and their
    Application, section 5.2.

    Args:
        confidence: (N, D) of the D decisions about each row.
        right: (N, D) whether each is right.
        groups, seed: as of `scores_of_rows`.

    Returns:
        None if there is a single row or group.
    """
    rows, decisions = confidence.shape
    gaps = np.zeros((rows, BINS))  # the sums of each row in each interval of confidences
    np.add.at(gaps, (np.arange(rows)[:, None], equal_width_intervals(confidence)), right - confidence)

    def error(weights: np.ndarray) -> float:
        return float(np.abs(weights @ gaps).sum() / (weights.sum() * decisions))

    found = [error(weights) for weights in resampled(rows, groups, seed)]
    if not found:
        return None
    (low, high), own = bounds(found), error(np.ones(rows))
    return max(2 * own - high, 0.0), min(max(2 * own - low, 0.0), 1.0)


def resampled(rows: int, groups: np.ndarray | None, seed: int) -> Iterator[np.ndarray]:
    """How often each row (N,) is drawn, in `REPLICATES` samples of as many rows or groups, drawn with replacement.

    Nothing is yielded if there is a single row or group.
    """
    numbers = np.arange(rows) if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
    count = int(numbers.max()) + 1
    generator = np.random.default_rng(seed)
    for _ in range(REPLICATES if count > 1 else 0):
        yield np.bincount(generator.integers(count, size=count), minlength=count)[numbers]


def bounds(values: list[float]) -> Interval:
    """The bounds of the middle 95 % of some values."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
