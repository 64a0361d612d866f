"""One text of each cluster: k-means on the vectors, and the text nearest to each center.

Kang, Ryu and Kwon (2004), Using Cluster-Based Sampling to Select Initial Training Set for Active Learning in Text
Classification, doi 10.1007/978-3-540-24775-3_46, with as many clusters as texts are wanted.
"""

from __future__ import annotations

import numpy as np

from not_offered.uncertain_clusters import nearest_to_centers
from salience.suggestions.strategies import Pool


def clusters(pool: Pool, count: int, generator: np.random.Generator) -> np.ndarray:
    """The text nearest to the center of each of `count` clusters, that of the largest cluster first."""
    return nearest_to_centers(pool.known_vectors, None, count, generator)
