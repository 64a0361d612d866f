"""95 % intervals of scores on labelled rows.

They say what other rows like these would give with the same models. They do not cover the sample of the training rows.
Rows of one group are sampled as a whole: Davison and Hinkley (1997), Bootstrap Methods and their Application, section
3.8. `groups` is (N,), or None for independent rows; `seed` is that of the bootstrap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from salience.scores.metrics import BINS, equal_width_intervals

LEVEL = 0.95
REPLICATES = 10_000  # of counts, which are drawn many at once
RESAMPLES = 1000  # of rows
CELLS = 2_000_000  # numbers drawn at once
Interval = tuple[float, float]


class Score(NamedTuple):
    """A score and its 95 % interval, which is None where nothing varies."""

    value: float
    interval: Interval | None


def wilson_interval(successes: int, rows: int) -> Interval:
    """The score interval of a proportion: Wilson (1927), doi 10.1080/01621459.1927.10502953.

    Unlike that of the normal distribution, it has a width where all rows are right. scipy's differs in the last bit.
    """
    z = float(ndtri((1 + LEVEL) / 2))
    share = successes / rows
    middle = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z / (1 + z**2 / rows) * float(np.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2)))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def percentiles(values: Any) -> Interval:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def accuracy_interval(labels: np.ndarray, predicted: np.ndarray, groups: np.ndarray | None, seed: int = 0) -> Interval:
    """The interval of the accuracy of class numbers (N,): Wilson's over rows, or a bootstrap over groups.

    Where all rows are right, or all wrong, a bootstrap sees no variation; then it is Wilson's over the groups.
    """
    right = labels == predicted
    if groups is None:
        return wilson_interval(int(right.sum()), len(labels))
    if right.all() or not right.any():
        count = len(np.unique(groups))
        return wilson_interval(count if right.all() else 0, count)
    pairs, drawn = confusions(labels, predicted, groups, seed)
    same = pairs[:, 0] == pairs[:, 1]
    return percentiles(np.concatenate([counts[:, same].sum(1) / counts.sum(1) for counts in drawn]))


def macro_f1_interval(
    labels: np.ndarray, predicted: np.ndarray, groups: np.ndarray | None, seed: int = 0
) -> Interval | None:
    """The interval of macro-F1 of class numbers (N,): percentiles of a bootstrap; None if all are right, or all wrong.

    In each replicate macro-F1 is the mean over the classes that occur in its labels or predictions. With few rows of a
    class such intervals are too narrow.
    """
    right = labels == predicted
    if right.all() or not right.any():
        return None
    pairs, drawn = confusions(labels, predicted, groups, seed)
    of_label, of_prediction = (pairs[:, [place]] == np.unique(pairs) for place in (0, 1))

    def macro_f1(counts: np.ndarray) -> np.ndarray:
        rows = counts @ (of_label.astype(float) + of_prediction)
        f1 = 2 * (counts @ (of_label & of_prediction).astype(float)) / np.maximum(rows, 1)
        return f1.sum(1) / (rows > 0).sum(1)

    return percentiles(np.concatenate([macro_f1(counts) for counts in drawn]))


def confusions(
    labels: np.ndarray, predicted: np.ndarray, groups: np.ndarray | None, seed: int
) -> tuple[np.ndarray, Iterator[np.ndarray]]:
    """Confusion matrices of as many rows or groups as there are, sampled with replacement.

    The label and the prediction (K, 2) of each cell that has rows, and `REPLICATES` times the rows in them, some at
    once (b, K).
    """
    from scipy.sparse import csr_array, eye_array

    pairs, cells = np.unique(np.stack([labels, predicted], 1), axis=0, return_inverse=True)
    cells = cells.ravel()
    if groups is None:
        return pairs, replicates(eye_array(len(pairs)), np.bincount(cells), seed, len(pairs))
    order = np.lexsort((cells, groups))
    starts = np.flatnonzero(np.diff(groups[order])) + 1
    found = Counter(tuple(part.tolist()) for part in np.split(cells[order], starts))
    flat = np.array([cell for kind in found for cell in kind])
    ends = np.cumsum([0, *map(len, found)])
    kinds = csr_array((np.ones(len(flat)), flat, ends), shape=(len(found), len(pairs)))
    return pairs, replicates(kinds, np.array(list(found.values())), seed, len(found))


def replicates(kinds: Any, often: np.ndarray, seed: int, width: int) -> Iterator[np.ndarray]:
    """Sums of counts (b, K) over as many units as there are, sampled with replacement; `REPLICATES` in all.

    Units with the same counts are of one kind (kinds, K): how often each kind is sampled is multinomial. `width` is
    the numbers of a replicate that are in memory at once.
    """
    generator = np.random.default_rng(seed)
    total, at_once = int(often.sum()), max(CELLS // width, 1)
    for done in range(0, REPLICATES, at_once):
        yield generator.multinomial(total, often / total, min(at_once, REPLICATES - done)) @ kinds


def f1_intervals(
    labels: np.ndarray, predicted: np.ndarray, groups: np.ndarray | None, seed: int = 0
) -> dict[str, Interval | None]:
    """The intervals of "micro_f1" and "macro_f1" of labels (N, C), 0 and 1: percentiles of a bootstrap.

    None if all decisions are right, or nothing that is predicted is: nothing varies then.
    """
    right, classes = labels * predicted, labels.shape[1]
    if (labels == predicted).all() or not right.any():
        return {"micro_f1": None, "macro_f1": None}
    counts = np.concatenate([right, labels + predicted], 1)  # of each label: right rows; label plus prediction
    if groups is not None:
        members = np.unique(groups, return_inverse=True)[1].ravel()
        summed = np.zeros((int(members.max()) + 1, counts.shape[1]), counts.dtype)
        np.add.at(summed, members, counts)
        counts = summed
    kinds, often = np.unique(counts, axis=0, return_counts=True)
    micro, macro = [], []
    for drawn in replicates(kinds, often, seed, max(kinds.shape)):
        own, either = drawn[:, :classes], drawn[:, classes:]
        micro.append(2 * own.sum(1) / np.maximum(either.sum(1), 1))
        macro.append((2 * own / np.maximum(either, 1)).mean(1))
    return {"micro_f1": percentiles(np.concatenate(micro)), "macro_f1": percentiles(np.concatenate(macro))}


def mean_interval(values: np.ndarray, groups: np.ndarray | None, seed: int = 0) -> Interval | None:
    """The interval of the mean of values (N,): percentiles of a bootstrap; None if there is a single row or group."""
    found = [float((weights @ values) / weights.sum()) for weights in resampled(len(values), groups, seed)]
    return percentiles(found) if found else None


def gap_interval(
    confidence: np.ndarray, right: np.ndarray, groups: np.ndarray | None, seed: int = 0
) -> Interval | None:
    """The interval of the calibration error of decisions (N, D): a basic bootstrap, cut at 0 and 1.

    Chance makes the error larger, of the rows and of every sample of them once more, so that percentiles would lie too
    high. The basic interval, 2 e - q, takes this off again: Davison and Hinkley (1997), section 5.2. None if there is
    a single row or group.
    """
    confidence = confidence.astype(float)
    rows, decisions = confidence.shape
    gaps = np.zeros((rows, BINS))  # the sums of each row in each interval of confidences
    np.add.at(gaps, (np.arange(rows)[:, None], equal_width_intervals(confidence)), right - confidence)

    def error(weights: np.ndarray) -> float:
        return float(np.abs(weights @ gaps).sum() / (weights.sum() * decisions))

    found = [error(weights) for weights in resampled(rows, groups, seed)]
    if not found:
        return None
    (low, high), own = percentiles(found), error(np.ones(rows))
    return max(2 * own - high, 0.0), min(max(2 * own - low, 0.0), 1.0)


def resampled(rows: int, groups: np.ndarray | None, seed: int) -> Iterator[np.ndarray]:
    """How often each row (N,) is in `RESAMPLES` samples with replacement; nothing for a single row or group."""
    numbers = np.arange(rows) if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
    count = int(numbers.max()) + 1
    generator = np.random.default_rng(seed)
    for _ in range(RESAMPLES if count > 1 else 0):
        yield np.bincount(generator.integers(count, size=count), minlength=count)[numbers]
