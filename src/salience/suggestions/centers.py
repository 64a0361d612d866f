"""The texts nearest to the centers of k-means."""

from __future__ import annotations

import warnings

import numpy as np

from salience.suggestions.strategy import completed


def nearest_to_centers(
    vectors: np.ndarray, weights: np.ndarray | None, count: int, generator: np.random.Generator
) -> np.ndarray:
    """The place of the vector nearest to each center of k-means, that of the heaviest cluster first.

    Of vectors with fewer than `count` different values, there are fewer clusters. The vectors nearest to their own
    centers complete the choice.

    Args:
        vectors: (N, D).
        weights: (N,) of the vectors in k-means; None weighs all alike.
        count: number of clusters.
        generator: of the initial centers.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    count = min(count, len(vectors))
    if not count:
        return np.zeros(0, np.int64)
    means = KMeans(count, n_init=1, random_state=int(generator.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # equal vectors give fewer clusters
        own = means.fit_predict(vectors, sample_weight=weights)
    distances = np.linalg.norm(vectors - means.cluster_centers_[own], axis=1)
    by_distance = np.argsort(distances, kind="stable")
    found, first = np.unique(own[by_distance], return_index=True)
    sizes = np.bincount(own, weights, minlength=count)[found]
    chosen = by_distance[first][np.argsort(-sizes, kind="stable")]
    return completed(chosen, by_distance, count)
