"""95 % intervals of the accuracy and of macro-F1 on labelled rows.

They say what other rows like these would give, with the same predictions of the same models. They do not cover the
draw of the training rows: models that are trained on other rows, or with another seed, vary too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse import eye_array as identity
from scipy.special import ndtri

from salience.scores.label_metrics import decision_scores, label_calibration_error, ranking_precisions
from salience.scores.metrics import BINS, equal_width_intervals, row_scores, scores

LEVEL = 0.95
REPLICATES = 10_000
CELLS = 2_000_000  # numbers drawn at once
Interval = tuple[float, float]


def wilson_interval(successes: int, rows: int) -> Interval:
    """The score interval of a proportion: Wilson (1927), doi 10.1080/01621459.1927.10502953.

    Unlike the interval of the normal distribution, it has a width where all rows are right, and stays in [0, 1].

    Args:
        successes: number of rows that are right.
        rows: number of rows, at least 1.
    """
    z = float(ndtri((1 + LEVEL) / 2))
    share = successes / rows
    middle = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z / (1 + z**2 / rows) * float(np.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2)))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def accuracy_interval(labels: np.ndarray, predicted: np.ndarray, groups: np.ndarray | None, seed: int = 0) -> Interval:
    """The interval of the accuracy: Wilson's over rows, or a bootstrap over groups.

    Where all rows are right, or all wrong, a bootstrap sees no variation; then it is Wilson's over the groups.

    Args:
        labels, predicted: (N,) class numbers.
        groups: (N,) the group of each row; None for rows that are independent.
        seed: of the bootstrap.
    """
    right = labels == predicted
    if groups is None:
        return wilson_interval(int(right.sum()), len(labels))
    if right.all() or not right.any():
        count = len(np.unique(groups))
        return wilson_interval(count if right.all() else 0, count)
    found = Confusions.of(labels, predicted, groups)
    return percentiles(map(found.accuracy, found.resampled(seed)))


def macro_f1_interval(
    labels: np.ndarray, predicted: np.ndarray, groups: np.ndarray | None, seed: int = 0
) -> Interval | None:
    """The interval of macro-F1: percentiles of a bootstrap over rows, or over groups.

    In each replicate macro-F1 is the mean over the classes that occur in its labels or predictions. With few rows of
    a class such intervals are too narrow.

    Args:
        labels, predicted, groups, seed: as of `accuracy_interval`.

    Returns:
        None if all rows are right, or all wrong: nothing varies then.
    """
    right = labels == predicted
    if right.all() or not right.any():
        return None
    found = Confusions.of(labels, predicted, groups)
    return percentiles(map(found.macro_f1, found.resampled(seed)))


@dataclass(frozen=True)
class Confusions:
    """The rows of each group by their label and their prediction.

    Groups with the same counts are of one kind: how often each kind is drawn is multinomial.

    Args:
        labels, predicted: (cells,) the classes of each cell of the confusion matrix that has rows.
        kinds: (kinds, cells) the rows of a group of each kind in each cell, sparse.
        groups: (kinds,) the number of groups of each kind.
    """

    labels: np.ndarray
    predicted: np.ndarray
    kinds: csr_array
    groups: np.ndarray

    @classmethod
    def of(cls, labels: np.ndarray, predicted: np.ndarray, groups: np.ndarray | None) -> Confusions:
        """The confusions of N rows. Without groups, every row is one.

        Args:
            labels, predicted: (N,) class numbers.
            groups: (N,) the group of each row; None if there are none.
        """
        pairs, cells = np.unique(np.stack([labels, predicted], 1), axis=0, return_inverse=True)
        cells = cells.ravel()
        if groups is None:
            kinds, counts = identity(len(pairs)), np.bincount(cells)
        else:
            order = np.lexsort((cells, groups))
            starts = np.flatnonzero(np.diff(groups[order])) + 1
            found = Counter(tuple(part.tolist()) for part in np.split(cells[order], starts))
            flat = np.array([cell for kind in found for cell in kind])
            ends = np.cumsum([0, *map(len, found)])
            kinds = csr_array((np.ones(len(flat)), flat, ends), shape=(len(found), len(pairs)))
            counts = np.array(list(found.values()))
        return cls(pairs[:, 0], pairs[:, 1], kinds, counts)

    def resampled(self, seed: int) -> Iterator[np.ndarray]:
        """Confusion matrices (b, cells) of as many groups as there are, drawn with replacement; `REPLICATES` in all.

        For the bootstrap of whole groups see Davison and Hinkley (1997), Bootstrap Methods and their Application,
        section 3.8.
        """
        generator = np.random.default_rng(seed)
        total, at_once = int(self.groups.sum()), max(CELLS // len(self.groups), 1)
        for done in range(0, REPLICATES, at_once):
            yield generator.multinomial(total, self.groups / total, min(at_once, REPLICATES - done)) @ self.kinds

    def accuracy(self, counts: np.ndarray) -> np.ndarray:
        """The accuracy (b,) of confusion matrices (b, cells)."""
        return counts[:, self.labels == self.predicted].sum(1) / counts.sum(1)

    def macro_f1(self, counts: np.ndarray) -> np.ndarray:
        """Macro-F1 (b,) of confusion matrices (b, cells)."""
        classes = np.unique([self.labels, self.predicted])
        of_label, of_prediction = self.labels[:, None] == classes, self.predicted[:, None] == classes
        rows = counts @ (of_label.astype(float) + of_prediction)
        f1 = 2 * (counts @ (of_label & of_prediction).astype(float)) / np.maximum(rows, 1)
        return f1.sum(1) / (rows > 0).sum(1)


def percentiles(values: Iterable[np.ndarray]) -> Interval:
    """The bounds of the middle 95 % of values that come in parts."""
    low, high = np.quantile(np.concatenate(list(values)), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


# Scores on labelled rows with 95 % intervals, also of those scores that metrics.json gives without one.

RESAMPLES = 1000


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
    """How often each row (N,) is drawn, in `RESAMPLES` samples of as many rows or groups, drawn with replacement.

    Nothing is yielded if there is a single row or group.
    """
    numbers = np.arange(rows) if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
    count = int(numbers.max()) + 1
    generator = np.random.default_rng(seed)
    for _ in range(RESAMPLES if count > 1 else 0):
        yield np.bincount(generator.integers(count, size=count), minlength=count)[numbers]


def bounds(values: list[float]) -> Interval:
    """The bounds of the middle 95 % of some values."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


# Scores with 95 % intervals where a text can have several labels: mostly a bootstrap over rows or groups.


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
