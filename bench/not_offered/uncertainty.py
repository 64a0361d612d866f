"""The texts that the classifier is least certain of, by least confidence or by the entropy.

Settles (2009), Active Learning Literature Survey, University of Wisconsin-Madison, Technical Report 1648, section 3.1.
"""

from __future__ import annotations

import numpy as np

from salience.suggestions.strategies import Pool, highest


def least_confidence(pool: Pool, count: int, generator: np.random.Generator | None = None) -> np.ndarray:
    """The texts whose most probable label has the lowest probability. Lewis and Gale (1994), arXiv:cmp-lg/9407020."""
    return highest(1 - pool.known_probabilities.max(1), count)


def entropy(pool: Pool, count: int, generator: np.random.Generator | None = None) -> np.ndarray:
    """The texts whose probabilities have the highest entropy."""
    return highest(entropies(pool.known_probabilities), count)


def entropies(probabilities: np.ndarray) -> np.ndarray:
    """The entropy in nats of each row (N,); a probability of 0 counts 0.

    Args:
        probabilities: (N, C).
    """
    logarithms = np.log(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
    return -(probabilities * logarithms).sum(1)
