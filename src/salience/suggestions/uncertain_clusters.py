"""One text of each cluster of the most uncertain texts: weighted k-means.

Zhdanov (2019), Diverse mini-batch Active Learning, algorithm 1, arXiv:1901.05954.
"""

from __future__ import annotations

import numpy as np

from salience.suggestions.centers import nearest_to_centers
from salience.suggestions.label_entropy import label_entropies
from salience.suggestions.margin import margins
from salience.suggestions.strategy import Pool, highest

FACTOR = 10  # beta: as many uncertain texts for each text that is wanted


def uncertain_clusters(pool: Pool, count: int, generator: np.random.Generator) -> np.ndarray:
    """The text nearest to the center of each of `count` clusters of the `FACTOR` times as many uncertain texts.

    The uncertainty of a text is 1 minus its margin; where it can have several labels, the mean entropy of the
    decisions about them. It also weighs the texts in k-means. The text of the heaviest cluster is the first.
    """
    uncertainty = uncertainties(pool)
    kept = highest(uncertainty, FACTOR * count)
    if not uncertainty[kept].any():  # k-means needs a weight above 0
        return kept[:count]
    return kept[nearest_to_centers(pool.known_vectors[kept], uncertainty[kept], count, generator)]


def uncertainties(pool: Pool) -> np.ndarray:
    """How uncertain the classifier is of each text (N,), from 0 to 1."""
    if pool.several:
        return label_entropies(pool.probabilities).mean(1)
    return 1 - margins(pool.probabilities).astype(np.float64)
