"""The strategies that `salience suggest` offers: those that were better than random choice in `bench/suggest.py`.

docs/suggest.md has the measurement, and the strategies that were not.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from scipy.special import entr

FACTOR = 10  # beta of weighted k-means: as many uncertain texts for each text that is wanted


@dataclass(frozen=True)
class Pool:
    """N texts without labels, as a classifier sees them.

    Args:
        probabilities: (N, C), the classifier's for the texts without labels; finite.
        vectors: (N, D), of the same texts, as the last linear map of the classifier reads them. None for strategies
            that read no vectors.
        several: whether a text can have several labels, so that there is a decision about each label.
    """

    probabilities: np.ndarray
    vectors: np.ndarray | None = None
    several: bool = field(default=False, kw_only=True)

    def __len__(self) -> int:
        return len(self.probabilities)

    @property
    def known_vectors(self) -> np.ndarray:
        """`vectors` (N, D). Raises a `ValueError` if there are none."""
        if self.vectors is None:
            raise ValueError("the vectors of the texts are needed, but not known")
        return self.vectors


# (pool, count, generator) -> places (K,) of K = min(count, N) texts, all different, the first to label first. Ties go
# to the first place. The memory needed beside the pool is linear in N.
Choose: TypeAlias = Callable[[Pool, int, np.random.Generator], np.ndarray]


def highest(scores: np.ndarray, count: int) -> np.ndarray:
    """The places of the `count` highest scores (N,), the highest first; of equal scores, the first place first."""
    return np.argsort(-scores, kind="stable")[:count]


def completed(chosen: np.ndarray, preferred: np.ndarray, count: int) -> np.ndarray:
    """The chosen places, and then the first of the `preferred` ones that are not among them, `count` in all."""
    rest = preferred[~np.isin(preferred, chosen)]
    return np.concatenate([chosen, rest])[:count].astype(np.int64)


def margins(probabilities: np.ndarray) -> np.ndarray:
    """The highest probability of each row (N, C) minus the second one, from 0 to 1; with a single class, its own."""
    if probabilities.shape[1] == 1:
        return probabilities[:, 0]
    two = np.partition(probabilities, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]


def label_entropies(probabilities: np.ndarray) -> np.ndarray:
    """The entropy of the decision about each label (N, C), from 0 to 1 bit."""
    yes = probabilities.astype(np.float64)
    return (entr(yes) + entr(1 - yes)) / np.log(2)


def margin(pool: Pool, count: int, generator: np.random.Generator | None = None) -> np.ndarray:
    """The texts with the smallest margin, the smallest first."""
    return highest(-margins(pool.probabilities), count)


def uncertain_clusters(pool: Pool, count: int, generator: np.random.Generator) -> np.ndarray:
    """The text nearest to the center of each of `count` clusters of the `FACTOR` times as many uncertain texts.

    The uncertainty of a text is 1 minus its margin; where it can have several labels, the mean entropy of the
    decisions about them. It also weighs the texts in k-means. The text of the heaviest cluster is the first.
    """
    if pool.several:
        uncertainty = label_entropies(pool.probabilities).mean(1)
    else:
        uncertainty = 1 - margins(pool.probabilities).astype(np.float64)
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


@dataclass(frozen=True)
class Strategy:
    """A way to choose texts to label.

    Args:
        choose: (pool, count, generator) -> places; see `salience.suggestions.strategies.Choose`.
        reads_vectors: whether it reads the vectors of the pool, not the probabilities alone.
        several: whether it also chooses among texts that can have several labels.
        reference: the paper, with its arXiv id or DOI.
    """

    choose: Choose
    reads_vectors: bool
    several: bool
    reference: str


STRATEGIES: dict[str, Strategy] = {
    "uncertain-clusters": Strategy(uncertain_clusters, True, True, "Zhdanov (2019), arXiv:1901.05954"),
    "margin": Strategy(margin, False, False, "Scheffer et al. (2001), doi 10.1007/3-540-44816-0_31"),
}
DEFAULT = "uncertain-clusters"
