"""95 % intervals of the accuracy and of macro-F1 on labelled rows.

They say what other rows like these would give, with the same predictions of the same models. They do not cover the
draw of the training rows: models that are trained on other rows, or with another seed, vary too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse import eye_array as identity
from scipy.special import ndtri

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
