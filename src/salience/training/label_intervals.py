"""Scores with 95 % intervals where a text can have several labels: mostly a bootstrap over rows or groups."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from salience.training.intervals import CELLS, REPLICATES, Interval, accuracy_interval, percentiles
from salience.training.label_metrics import decision_scores, label_calibration_error
from salience.training.label_row_scores import ranking_precisions
from salience.training.score_intervals import Score, gap_interval, mean_interval


def label_scores_of_rows(
    probabilities: np.ndarray, labels: np.ndarray, decided: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> dict[str, Score]:
    """F1, subset accuracy, ranking precision and calibration error of some rows with their intervals, by name.

    The subset accuracy is a share of rows and has the interval of an accuracy.

    Args:
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
        decided: (N, C) bool, the labels that are predicted.
        groups: (N,) the group of each row; None for rows that are independent.
        seed: of the bootstrap.
    """
    rankings, right = ranking_precisions(probabilities, labels), (decided == labels).all(1).astype(int)
    values = decision_scores(decided, labels) | {
        "ranking_precision": float(rankings.mean()),
        "calibration_error": label_calibration_error(probabilities, labels),
    }
    intervals = {
        **f1_intervals(labels, decided.astype(labels.dtype), groups, seed),
        "subset_accuracy": accuracy_interval(np.ones_like(right), right, groups, seed),
        "ranking_precision": mean_interval(rankings, groups, seed),
        "calibration_error": gap_interval(probabilities.astype(float), labels == 1, groups, seed),
    }
    return {name: Score(values[name], interval) for name, interval in intervals.items()}


def f1_intervals(
    labels: np.ndarray, predicted: np.ndarray, groups: np.ndarray | None, seed: int = 0
) -> dict[str, Interval | None]:
    """The intervals of "micro_f1" and "macro_f1": percentiles of a bootstrap. With few rows they are too narrow.

    Args:
        labels, predicted: (N, C), 0 and 1.
        groups: (N,) the group of each row, which are drawn as a whole; None draws rows.
        seed: of the bootstrap.

    Returns:
        By name; None if all decisions are right, or nothing that is predicted is: nothing varies then.
    """
    right = labels * predicted
    if (labels == predicted).all() or not right.any():
        return {"micro_f1": None, "macro_f1": None}
    counts = np.concatenate(
        [right, labels + predicted], 1
    )  # of each label: rows that are right; label plus prediction
    if groups is not None:
        members = np.unique(groups, return_inverse=True)[1].ravel()
        summed = np.zeros((int(members.max()) + 1, counts.shape[1]), counts.dtype)
        np.add.at(summed, members, counts)
        counts = summed
    kinds, often = np.unique(counts, axis=0, return_counts=True)  # equal units are of one kind, as in `Confusions`
    classes = labels.shape[1]

    def resampled() -> Iterator[np.ndarray]:
        generator = np.random.default_rng(seed)
        total, at_once = int(often.sum()), max(CELLS // max(kinds.shape), 1)
        for done in range(0, REPLICATES, at_once):
            yield generator.multinomial(total, often / total, min(at_once, REPLICATES - done)) @ kinds

    def micro(drawn: np.ndarray) -> np.ndarray:
        return 2 * drawn[:, :classes].sum(1) / np.maximum(drawn[:, classes:].sum(1), 1)

    def macro(drawn: np.ndarray) -> np.ndarray:
        return (2 * drawn[:, :classes] / np.maximum(drawn[:, classes:], 1)).mean(1)

    return {"micro_f1": percentiles(map(micro, resampled())), "macro_f1": percentiles(map(macro, resampled()))}
