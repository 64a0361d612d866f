"""Texts that are far from all labelled texts and from each other: greedy k-center.

Sener and Savarese (2018), Active Learning for Convolutional Neural Networks: A Core-Set Approach, algorithm 1,
arXiv:1708.00489.
"""

from __future__ import annotations

import numpy as np

from not_offered.uncertain_clusters import completed
from salience.suggestions.strategies import Pool

CELLS = 2**24  # distances computed at once


def k_center(pool: Pool, count: int, generator: np.random.Generator | None = None) -> np.ndarray:
    """Again and again the text whose nearest labelled or chosen text is farthest, in Euclidean distance.

    Without labelled texts, the first one is the text nearest to the mean. It takes O(N D (M + count)) steps.
    """
    vectors = pool.known_vectors
    count = min(count, len(pool))
    squares = np.einsum("nd,nd->n", vectors, vectors)
    chosen: list[int] = []
    if pool.labelled is not None and len(pool.labelled):
        nearest = nearest_squared(vectors, squares, pool.labelled)
    elif count:
        chosen = [int(to_center(vectors, squares, vectors.mean(0)).argmin())]
        nearest = to_center(vectors, squares, vectors[chosen[0]])
    while len(chosen) < count:
        farthest = int(nearest.argmax())
        if nearest[farthest] <= 0:  # all that are left are equal to labelled or chosen ones
            break
        chosen.append(farthest)
        nearest = np.minimum(nearest, to_center(vectors, squares, vectors[farthest]))
        nearest[farthest] = 0  # not a rounding error
    return completed(np.array(chosen, np.int64), np.arange(len(pool)), count)


def to_center(vectors: np.ndarray, squares: np.ndarray, center: np.ndarray) -> np.ndarray:
    """The squared distances (N,) of vectors (N, D) with the squared norms (N,) from a center (D,)."""
    return np.maximum(squares + center @ center - 2 * (vectors @ center), 0)


def nearest_squared(vectors: np.ndarray, squares: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """The squared distance of each vector to the nearest of M centers (N,), some vectors at a time."""
    norms = np.einsum("md,md->m", centers, centers)
    size = max(CELLS // len(centers), 1)
    parts = [
        (squares[start : start + size, None] + norms - 2 * (vectors[start : start + size] @ centers.T)).min(1)
        for start in range(0, len(vectors), size)
    ]
    return np.maximum(np.concatenate(parts), 0) if parts else np.zeros(0, vectors.dtype)
