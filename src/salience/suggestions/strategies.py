"""The strategies that `salience suggest` offers: those that were better than random choice in `bench/suggest.py`.

docs/research/studies/which-texts-next.md has the measurement, and the strategies that were not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from scipy.special import entr

from salience.classify.frozen_encoder import of_length_one

ROUNDING = 1e-5  # relative; two texts that are most similar to each other gain the same, and the first is chosen
MOST = 2000  # texts among which some are chosen at once: the cosines of all pairs are kept, 16 MB


@dataclass(frozen=True)
class Pool:
    """N unlabelled texts, as a classifier or an encoder sees them.

    Args:
        probabilities: (N, C), the classifier's for the unlabelled texts; finite. None of an encoder, which has none.
        vectors: (N, D), of the same texts, as the last linear map of the classifier reads them. None for strategies
            that read no vectors.
        labelled: (M, D), the vectors of the texts that have labels; None if there are no such texts.
        several: whether a text can have several labels, so that there is a decision about each label.
    """

    probabilities: np.ndarray | None = None
    vectors: np.ndarray | None = None
    labelled: np.ndarray | None = None
    several: bool = field(default=False, kw_only=True)

    def __len__(self) -> int:
        return len(self.known_vectors if self.probabilities is None else self.probabilities)

    @property
    def known_probabilities(self) -> np.ndarray:
        """`probabilities` (N, C). Raises a `ValueError` if there are none."""
        if self.probabilities is None:
            raise ValueError("the probabilities of the texts are needed, but not known")
        return self.probabilities

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
    return highest(-margins(pool.known_probabilities), count)


def uncertain_facilities(pool: Pool, count: int, generator: np.random.Generator) -> np.ndarray:
    """The texts that are most similar to all others, where an uncertain text counts more; see `facilities`.

    The uncertainty of a text is 1 minus its margin; where it can have several labels, the mean entropy of the
    decisions about them. Without probabilities all texts count alike.
    """
    if pool.probabilities is None:
        uncertainty = np.ones(len(pool))
    elif pool.several:
        uncertainty = label_entropies(pool.probabilities).mean(1)
    else:
        uncertainty = 1 - margins(pool.probabilities).astype(np.float64)
    return facilities(pool.known_vectors, pool.labelled, uncertainty, count, generator)


def balanced_facilities(pool: Pool, count: int, generator: np.random.Generator) -> np.ndarray:
    """As many texts of each predicted label, as far as there are: those most similar to the others of the label.

    Labels take turns, that of the most texts first.
    """
    predicted = pool.known_probabilities.argmax(1)
    sizes = np.bincount(predicted, minlength=pool.known_probabilities.shape[1])
    turns = np.minimum.outer(sizes, np.arange(count + 1))  # (C, count + 1): texts of a label after so many turns
    full = int((turns.sum(0) < min(count, len(pool))).sum())  # the turn in which the last text is chosen
    ordered = []
    for label in np.flatnonzero(sizes):
        places, wanted = np.flatnonzero(predicted == label), int(turns[label, full])
        own = facilities(pool.known_vectors[places], pool.labelled, np.ones(len(places)), wanted, generator)
        ordered += [(turn, -sizes[label], label, place) for turn, place in enumerate(places[own])]
    return np.array([place for *_, place in sorted(ordered)], np.int64)[:count]


def facilities(
    vectors: np.ndarray, labelled: np.ndarray | None, weights: np.ndarray, count: int, generator: np.random.Generator
) -> np.ndarray:
    """The places (K,) of the texts that together are most similar to all N texts, of K = min(count, N).

    Facility location: the sum of every text's weight (N,) and its highest cosine with a chosen or labelled one, which
    a greedy choice maximises up to a factor of 1 - 1/e (Nemhauser, Wolsey and Fisher, 1978, doi 10.1007/BF01588971).
    Of more than `MOST` texts, some are chosen among `MOST` that are sampled, in as many parts as `count` needs.
    """
    unit, count = of_length_one(vectors).astype(np.float32), min(count, len(vectors))
    if not count:
        return np.zeros(0, np.int64)
    drawn = generator.permutation(len(unit)) if len(unit) > MOST else np.arange(len(unit))
    parts = np.array_split(drawn, -(-len(unit) // MOST))
    shares = np.array_split(np.arange(count), min(len(parts), -(-4 * count // MOST)))  # a quarter of a part, or all
    covering = [] if labelled is None or not len(labelled) else [of_length_one(labelled).astype(np.float32)]
    chosen: list[int] = []
    for part, share in zip(parts, shares, strict=False):
        own = unit[part]
        similar, weight, more = own @ own.T, weights[part].astype(np.float32), np.empty((len(own),) * 2, np.float32)
        highest_yet = nearest(own, np.concatenate(covering)) if covering else np.full(len(own), -1, np.float32)
        free = np.ones(len(own), bool)
        for _ in share:
            np.maximum(np.subtract(similar, highest_yet[:, None], out=more), 0, out=more)
            gains = np.where(free, weight @ more, -1)
            best = int(np.flatnonzero(gains >= gains.max() * (1 - ROUNDING))[0])
            chosen.append(int(part[best]))
            free[best], highest_yet = False, np.maximum(highest_yet, similar[:, best])
        covering.append(unit[chosen[-len(share) :]])
    return np.array(chosen, np.int64)


def nearest(vectors: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The highest cosine (N,) of each vector (N, D) with one of the others (M, D), all of length 1."""
    from sklearn.metrics import pairwise_distances_argmin_min

    return (1 - pairwise_distances_argmin_min(vectors, others, metric="cosine")[1]).astype(np.float32)


@dataclass(frozen=True)
class Strategy:
    """A way to choose texts to label.

    Args:
        choose: (pool, count, generator) -> places; see `salience.suggestions.strategies.Choose`.
        reads_vectors: whether it reads the vectors of the pool, not the probabilities alone.
        reads_probabilities: whether it needs the probabilities of a classifier.
        several: whether it also chooses among multi-label texts.
        reference: the paper, with its arXiv id or DOI.
    """

    choose: Choose
    reads_vectors: bool
    reads_probabilities: bool
    several: bool
    reference: str


STRATEGIES: dict[str, Strategy] = {
    "facility-location": Strategy(
        uncertain_facilities, True, False, True, "Wei, Iyer and Bilmes (2015), proceedings.mlr.press/v37/wei15"
    ),
    "balanced": Strategy(
        balanced_facilities, True, True, False, "facility location for each predicted label; for salience describe"
    ),
    "margin": Strategy(margin, False, True, False, "Scheffer et al. (2001), doi 10.1007/3-540-44816-0_31"),
}
DEFAULT = "facility-location"
DESCRIBED = "balanced"  # the default of a classifier from descriptions, which has seen no labelled text
