"""Texts with large and different gradients: BADGE, k-means++ on gradient embeddings.

Ash, Zhang, Krishnamurthy, Langford and Agarwal (2020), Deep Batch Active Learning by Diverse, Uncertain Gradient Lower
Bounds, algorithm 1, arXiv:1906.03671.
"""

from __future__ import annotations

import numpy as np

from not_offered.uncertain_clusters import completed
from salience.suggestions.strategies import Pool, highest


def badge(pool: Pool, count: int, generator: np.random.Generator) -> np.ndarray:
    """Centers that k-means++ draws among the gradient embeddings of the texts, in the order in which they are drawn.

    The gradient embedding of a text is the gradient of its loss in the weights of the last linear map, (p - y) h^T,
    where y is the most probable label. As in the authors' code, the first center is that of the largest norm. Each
    further one is drawn with a probability proportional to its squared distance from the nearest center.

    The embeddings (N, C, D) are never made: the product of two is the product of their errors p - y times that of
    their vectors. It takes O(N (C + D) count) steps.
    """
    errors = pool.known_probabilities.astype(np.float64)  # a copy
    errors[np.arange(len(pool)), errors.argmax(1)] -= 1
    vectors = pool.known_vectors
    norms = np.einsum("nc,nc->n", errors, errors) * np.einsum("nd,nd->n", vectors, vectors)
    by_norm = highest(norms, len(pool))
    count = min(count, len(pool))
    chosen = by_norm[: min(count, 1)].tolist()
    nearest = np.full(len(pool), np.inf)
    while len(chosen) < count:
        center = chosen[-1]
        products = (errors @ errors[center]) * (vectors @ vectors[center])
        nearest = np.minimum(nearest, np.maximum(norms + norms[center] - 2 * products, 0))
        nearest[chosen] = 0  # not a rounding error
        steps = np.cumsum(nearest)
        if steps[-1] <= 0:  # all that are left are equal to chosen ones
            break
        # The smallest place whose step is above the number: one with a distance above 0.
        chosen.append(int(np.searchsorted(steps, generator.random() * steps[-1], side="right")))
    return completed(np.array(chosen, np.int64), by_norm, count)
