"""One text of each cluster of the most uncertain texts: weighted k-means.

Zhdanov (2019), Diverse mini-batch Active Learning, arXiv:1901.05954. It was the default of `salience suggest` until
facility location, which also knows the labelled texts, was better (`docs/research/studies/which-texts-next.md`).
"""

from __future__ import annotations

import warnings

import numpy as np

from salience.suggestions.strategies import Pool, highest, label_entropies, margins

FACTOR = 10  # beta of weighted k-means: as many uncertain texts for each text that is wanted


def uncertain_clusters(pool: Pool, count: int, generator: np.random.Generator) -> np.ndarray:
    """The text nearest to the center of each of `count` clusters of the `FACTOR` times as many uncertain texts.

    The uncertainty of a text is 1 minus its margin; where it can have several labels, the mean entropy of the
    decisions about them. It also weighs the texts in k-means. The text of the heaviest cluster is the first.
    """
    if pool.several:
        uncertainty = label_entropies(pool.known_probabilities).mean(1)
    else:
        uncertainty = 1 - margins(pool.known_probabilities).astype(np.float64)
    kept = highest(uncertainty, FACTOR * count)
    if not uncertainty[kept].any():  # k-means needs a weight above 0
        return kept[:count]
    return kept[nearest_to_centers(pool.known_vectors[kept], uncertainty[kept], count, generator)]


def nearest_to_centers(
    vectors: np.ndarray, weights: np.ndarray | None, count: int, generator: np.random.Generator
) -> np.ndarray:
    """The place of the vector nearest to each center of weighted k-means, that of the heaviest cluster first.

    Of vectors with fewer than `count` different values, there are fewer clusters. The vectors nearest to their own
    centers complete the choice.
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


def completed(chosen: np.ndarray, preferred: np.ndarray, count: int) -> np.ndarray:
    """The chosen places, and then the first of the `preferred` ones that are not among them, `count` in all."""
    rest = preferred[~np.isin(preferred, chosen)]
    return np.concatenate([chosen, rest])[:count].astype(np.int64)
