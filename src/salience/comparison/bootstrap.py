"""The hierarchical bootstrap of a paired difference: data sets, draws within a set, and test rows within a set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

CELLS = 200_000  # weights made at once: they stay in the processor's cache


def replicates(
    differences: Sequence[ArrayLike], over_sets: bool = True, count: int = 10_000, seed: int = 0
) -> np.ndarray:
    """Means over data sets of differences that are drawn with replacement.

    A replicate draws S of the S data sets, or keeps them. In each it draws D_s draws and, independently, N_s rows that
    are the same for all of its draws. A set that is drawn twice is resampled twice. The mean weighs all sets equally.

    The replicates show the shape of the distribution. Their percentiles are no honest interval for few draws or sets:
    see `salience.comparison.interval`.

    Args:
        differences: for each of S data sets (D_s, N_s), or (D_s,).
        over_sets: whether sets are drawn too.
        count: B, number of replicates.
        seed: of the random numbers.

    Returns:
        The means (B,).
    """
    generator = np.random.default_rng(seed)
    sets = len(differences)
    if over_sets:
        chosen = generator.integers(sets, size=(count, sets))
    else:
        chosen = np.tile(np.arange(sets), (count, 1))
    means = np.empty((count, sets))
    for number, values in enumerate(differences):
        places = chosen == number
        means[places] = replicates_of_set(np.asarray(values, float), int(places.sum()), generator)
    return means.mean(1)


def replicates_of_set(values: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """Means (B,) of `values` (D, N) or (D,), with draws and rows drawn with replacement.

    Args:
        values: the differences.
        count: B.
        generator: of the random numbers.
    """
    values = values.reshape(len(values), -1)
    at_once = max(CELLS // values.shape[1], 1)
    means = [
        np.einsum(
            "bd,bd->b", weights(values.shape[0], some, generator), weights(values.shape[1], some, generator) @ values.T
        )
        for some in np.diff([*range(0, count, at_once), count])
    ]
    return np.concatenate(means) if means else np.empty(0)


def weights(items: int, count: int, generator: np.random.Generator) -> np.ndarray:
    """How often each of n items is drawn in n draws with replacement, divided by n: (B, n).

    Args:
        items: n.
        count: B.
        generator: of the random numbers.
    """
    drawn = generator.integers(items, size=(count, items), dtype=np.int32) + items * np.arange(count)[:, None]
    return np.bincount(drawn.ravel(), minlength=count * items).reshape(count, items) / items
