"""Rows that are nearly equal, and rows that are like no other, by the vectors of a frozen encoder.

All vectors have length 1, so that their product is the cosine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from salience.data.splitting import stripped
from salience.data.texts import Texts

if TYPE_CHECKING:
    from sklearn.neighbors import NearestNeighbors

NEIGHBOURS = 10  # nearest rows whose distances make the score of an outlier
FENCE = 1.5  # interquartile ranges above the third quartile
BLOCK = 256  # rows that are compared with all others at once
NO_DISTANCE = 1e-6  # cosine distances of equal vectors in float32 are below this


@dataclass(frozen=True)
class Group:
    """Rows that are nearly equal.

    Attributes:
        places: which texts they are, in order, counted from 0.
        cosine: every row has another one in the group that is at least so similar.
    """

    places: list[int]
    cosine: float


def duplicate_groups(texts: Texts, vectors: np.ndarray, similarity: float) -> list[Group]:
    """The groups of texts that are linked by a cosine of at least `similarity`, the most similar first.

    Texts that are equal but for the space around them are linked too, whatever their vectors.

    Args:
        texts: N texts, or pairs.
        vectors: (N, D) of length 1.
        similarity: from 0 to 1.
    """
    numbers: dict[tuple[str, ...], int] = {}
    of_text = np.array([numbers.setdefault(text, len(numbers)) for text in stripped(texts)])
    _, first = np.unique(of_text, return_index=True)
    group_of_row = linked_rows(vectors[first], similarity)[of_text]
    order = np.argsort(group_of_row, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(group_of_row[order])) + 1)
    groups = [Group(part.tolist(), least_similar(part, of_text, vectors)) for part in parts if len(part) > 1]
    return sorted(groups, key=lambda group: (-group.cosine, group.places))


def linked_rows(vectors: np.ndarray, similarity: float) -> np.ndarray:
    """The number of the group of each row (N,): rows are in one group if a chain of similar rows leads to the other.

    Texts that are made from one template are all similar, so that all links at once would take N^2 of memory.

    Args:
        vectors: (N, D) of length 1.
        similarity: from 0 to 1.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from sklearn.utils import gen_batches

    search, groups = by_cosine(similarity).fit(vectors), np.arange(len(vectors))
    for block in gen_batches(len(vectors), BLOCK):
        rows, others = search.radius_neighbors_graph(vectors[block]).nonzero()
        ends = groups[block][rows], groups[others]
        links = coo_array((np.ones(len(rows), bool), ends), shape=(len(groups), len(groups)))
        groups = connected_components(links, directed=False)[1][groups]
    return groups


def least_similar(places: np.ndarray, of_text: np.ndarray, vectors: np.ndarray) -> float:
    """The smallest, over the rows of a group, of the cosine with the most similar other row; 1 for equal texts."""
    from sklearn.utils import gen_batches

    texts, first, counts = np.unique(of_text[places], return_index=True, return_counts=True)
    if len(texts) == 1:
        return 1.0
    own, itself = vectors[places[first]], np.where(counts > 1, 1, -1)
    nearest = []
    for block in gen_batches(len(own), BLOCK):
        cosines = own[block] @ own.T
        cosines[np.arange(len(cosines)), np.arange(len(own))[block]] = itself[block]
        nearest.append(cosines.max(1).min())
    return min(float(min(nearest)), 1.0)


@dataclass(frozen=True)
class Match:
    """One of other rows, with rows that it is nearly equal to.

    Attributes:
        other: which of the other rows it is, counted from 0.
        places: which rows, the most similar first.
        cosine: with the first of them.
    """

    other: int
    places: list[int]
    cosine: float


def matches(vectors: np.ndarray, others: np.ndarray, similarity: float) -> list[Match]:
    """The other rows that have a similar row, in order.

    A row stands with the other row that is most similar to it, and every other row has the row that is most similar to
    it. So every similar row is there, in at most N + M places; all pairs would be N M where texts have one template.

    Args:
        vectors: (N, D) of length 1.
        others: (M, D) of length 1.
        similarity: from 0 to 1.
    """
    to_other, other_of = most_similar(vectors, others)
    to_row, row_of = most_similar(others, vectors)
    lowest = 1 - largest_distance(similarity)
    rows = np.flatnonzero(to_other >= lowest)
    # A cosine near the limit may be rounded to either side of it, once from the rows and once from the other rows.
    near = np.union1d(np.flatnonzero(to_row >= lowest), other_of[rows])
    found = {other: [int(row_of[other])] for other in near.tolist()}
    for row in rows[np.argsort(-to_other[rows], kind="stable")].tolist():
        places = found[int(other_of[row])]
        if row != places[0]:
            places.append(row)
    return [Match(other, places, float(to_row[other])) for other, places in found.items()]


def most_similar(vectors: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The highest cosine of each row (N,) with one of the other rows, and which one that is (N,)."""
    from sklearn.metrics import pairwise_distances_argmin_min

    places, distances = pairwise_distances_argmin_min(vectors, others, metric="cosine")
    return np.clip(1 - distances, -1, 1), places


def largest_distance(similarity: float) -> float:
    """The cosine distance up to which rows are nearly equal; it leaves room for rounding where similarity is 1."""
    return max(1 - similarity, NO_DISTANCE)


def by_cosine(similarity: float) -> NearestNeighbors:
    """A search for all rows with at least this cosine."""
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(radius=largest_distance(similarity), metric="cosine", algorithm="brute")


def outlier_scores(vectors: np.ndarray) -> np.ndarray:
    """The mean cosine distance of each row to the `NEIGHBOURS` rows nearest to it (N,), from 0 to 2.

    Kuan and Mueller (2022), Back to the Basics: Revisiting Out-of-Distribution Detection Baselines, arXiv:2207.03061.

    Args:
        vectors: (N, D) of length 1, of two rows at least.
    """
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(vectors) - 1), metric="cosine", algorithm="brute")
    distances, _ = search.fit(vectors).kneighbors()
    return distances.mean(1)


def above_fence(scores: np.ndarray) -> np.ndarray:
    """Whether each score is above Tukey's upper fence, 1.5 interquartile ranges above the third quartile (N,) bool."""
    low, high = np.quantile(scores, [0.25, 0.75])
    return scores > high + FENCE * (high - low)
