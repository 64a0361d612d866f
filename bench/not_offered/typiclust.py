"""The most typical text of each of the largest clusters that no labelled text is in: TypiClust.

Hacohen, Dekel and Weinshall (2022), Active Learning on a Budget, arXiv:2202.02794, algorithm 1.
"""

from __future__ import annotations

import warnings

import numpy as np

from salience.classify.frozen_encoder import of_length_one
from salience.suggestions.strategies import Pool

NEIGHBOURS = 20  # nearest texts of the cluster whose mean distance is the inverse of the typicality


def typiclust(pool: Pool, count: int, generator: np.random.Generator) -> np.ndarray:
    """As many clusters as texts are wanted and labelled; those with the fewest labelled texts come first."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    count, vectors = min(count, len(pool)), of_length_one(pool.known_vectors)
    labelled = vectors[:0] if pool.labelled is None else of_length_one(pool.labelled)
    if not count:
        return np.zeros(0, np.int64)
    every = np.concatenate([vectors, labelled])
    means = KMeans(min(count + len(labelled), len(every)), n_init=1, random_state=int(generator.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # equal vectors give fewer clusters
        own = means.fit_predict(every)
    known = np.bincount(own[len(vectors) :], minlength=means.n_clusters)
    members = {cluster: np.flatnonzero(own[: len(vectors)] == cluster).tolist() for cluster in range(len(known))}
    chosen: list[int] = []
    while len(chosen) < count:
        left = {cluster: places for cluster, places in members.items() if places}
        cluster = min(left, key=lambda each: (known[each], -len(left[each])))
        best = most_typical(vectors[left[cluster]])
        chosen.append(left[cluster].pop(best))
        known[cluster] += 1
    return np.array(chosen, np.int64)


def most_typical(vectors: np.ndarray) -> int:
    """The place of the vector (N, D) whose nearest others are the nearest in the mean."""
    distances = np.sqrt(np.maximum(2 - 2 * vectors @ vectors.T, 0))  # of length 1
    nearest = np.sort(distances, axis=1)[:, 1 : NEIGHBOURS + 1]
    return int(nearest.mean(1).argmin()) if nearest.shape[1] else 0
