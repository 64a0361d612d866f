"""Uncertain texts that are like many others: information density.

Settles and Craven (2008), An Analysis of Active Learning Strategies for Sequence Labeling Tasks,
doi 10.3115/1613715.1613855. beta is 1.
"""

from __future__ import annotations

import numpy as np

from not_offered.uncertainty import entropies
from salience.suggestions.strategies import Pool, highest


def density(pool: Pool, count: int, generator: np.random.Generator | None = None) -> np.ndarray:
    """The texts with the highest product of entropy and mean cosine with all texts of the pool.

    The mean cosine with all texts is the product with the mean of all directions, so no similarity of two texts is
    computed. A negative one counts 0.
    """
    vectors = pool.known_vectors
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = vectors / np.where(norms > 0, norms, 1)
    similarity = directions @ directions.mean(0) if len(pool) else norms[:, 0]
    return highest(entropies(pool.known_probabilities) * np.maximum(similarity, 0), count)
