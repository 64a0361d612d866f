"""The texts that the classifier is least certain of: by least confidence, by the margin, or by the entropy.

Settles (2009), Active Learning Literature Survey, University of Wisconsin-Madison, Technical Report 1648, section 3.1.
"""

from __future__ import annotations

import numpy as np

from salience.suggestions.strategy import Pool, highest


def least_confidence(pool: Pool, count: int, generator: np.random.Generator | None = None) -> np.ndarray:
    """The texts whose most probable label has the lowest probability. Lewis and Gale (1994), arXiv:cmp-lg/9407020."""
    return highest(1 - pool.probabilities.max(1), count)


def margin(pool: Pool, count: int, generator: np.random.Generator | None = None) -> np.ndarray:
    """The texts whose two most probable labels are closest in probability.

    Scheffer, Decomain and Wrobel (2001), Active Hidden Markov Models for Information Extraction, doi
    10.1007/3-540-44816-0_31. Luo et al. (2005, JMLR 6) call it breaking ties.
    """
    return highest(-margins(pool.probabilities), count)


def entropy(pool: Pool, count: int, generator: np.random.Generator | None = None) -> np.ndarray:
    """The texts whose probabilities have the highest entropy."""
    return highest(entropies(pool.probabilities), count)


def margins(probabilities: np.ndarray) -> np.ndarray:
    """The highest probability minus the second one (N,), from 0 to 1; with a single class, its probability.

    Args:
        probabilities: (N, C).
    """
    if probabilities.shape[1] == 1:
        return probabilities[:, 0]
    two = np.partition(probabilities, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]


def entropies(probabilities: np.ndarray) -> np.ndarray:
    """The entropy in nats of each row (N,); a probability of 0 counts 0.

    Args:
        probabilities: (N, C).
    """
    logarithms = np.log(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
    return -(probabilities * logarithms).sum(1)
