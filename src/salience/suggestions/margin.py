"""The texts whose two most probable labels are closest in probability.

Scheffer, Decomain and Wrobel (2001), Active Hidden Markov Models for Information Extraction, doi
10.1007/3-540-44816-0_31. Luo et al. (2005, JMLR 6) call it breaking ties.
"""

from __future__ import annotations

import numpy as np

from salience.suggestions.strategy import Pool, highest


def margin(pool: Pool, count: int, generator: np.random.Generator | None = None) -> np.ndarray:
    """The texts with the smallest margin, the smallest first."""
    return highest(-margins(pool.probabilities), count)


def margins(probabilities: np.ndarray) -> np.ndarray:
    """The highest probability minus the second one (N,), from 0 to 1; with a single class, its probability.

    Args:
        probabilities: (N, C).
    """
    if probabilities.shape[1] == 1:
        return probabilities[:, 0]
    two = np.partition(probabilities, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]
