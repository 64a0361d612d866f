"""Rows that are nearly equal, and rows that are like no other, by the vectors of a frozen encoder.

All vectors have length 1, so that their product is the cosine. N rows, and M other rows.
"""

from __future__ import annotations

import numpy as np

from salience.audit.findings import Finding, Named, named, rows_of
from salience.data.splitting import stripped
from salience.data.task import Task
from salience.data.texts import Texts
from salience.work import doing, tracked

NEIGHBOURS = 10  # nearest rows whose distances make the score of an outlier
FENCE = 1.5  # interquartile ranges above the third quartile
BLOCK = 256  # rows that are compared with all others at once
COMPARING = "comparing texts"  # the name of the work
NO_DISTANCE = 1e-6  # cosine distances of equal vectors in float32 are below this


def near_duplicates(task: Task, vectors: np.ndarray, similarity: float, of_test: bool = False) -> list[Finding]:
    """The groups of rows that are nearly equal, those with different labels first. The score is a cosine.

    Test rows are searched too: a model is right or wrong on all rows of a group together.
    """
    texts = task.test if of_test else task.training
    numbers, keep = rows_of(texts), "keep one of them in the test file" if of_test else "keep one of them"
    choose = "choose one set of labels" if task.multi_label else "choose one label"
    alike: list[Finding] = []
    different: list[Finding] = []
    for places, cosine in duplicate_groups(texts, vectors, similarity):
        rows, labels = [numbers[place] for place in places], labels_at(task, texts, places)
        same = all(label == labels[0] for label in labels)
        details = {"test_rows": rows, "labels": labels} if of_test else {"labels": labels}
        kind, own = ("test_duplicate", []) if of_test else ("duplicate", rows)
        (alike if same else different).append(Finding(kind, own, keep if same else choose, cosine, details))
    return different + alike


def leaks(task: Task, vectors: np.ndarray, test_vectors: np.ndarray, similarity: float) -> list[Finding]:
    """The test rows that are nearly equal to labelled rows, with these. The score is the highest cosine."""
    rows, test_rows = rows_of(task.training), rows_of(task.test)
    found = [
        Finding(
            "leak", [rows[place] for place in places], f"delete the row{'s' * (len(places) > 1)}", cosine,
            {
                "test_rows": [test_rows[other]],
                "labels": labels_at(task, task.training, places),
                "test_label": labels_at(task, task.test, [other])[0],
            },
        )
        for other, places, cosine in matches(vectors, test_vectors, similarity)
    ]  # fmt: skip
    return sorted(found, key=lambda finding: -finding.score)


def outliers(task: Task, vectors: np.ndarray) -> list[Finding]:
    """The rows that are far from all others. The score is the mean cosine distance to the nearest rows."""
    rows, scores = rows_of(task.training), outlier_scores(vectors)
    far = above_fence(scores)
    return [
        Finding("outlier", [rows[place]], "check whether the row belongs here", float(scores[place]),
                {"label": labels_at(task, task.training, [place])[0]})
        for place in np.argsort(-scores, kind="stable").tolist() if far[place]
    ]  # fmt: skip


def labels_at(task: Task, texts: Texts, places: list[int]) -> list[Named]:
    return [named(label, task.labels) for label in texts.known_labels[places]]


def duplicate_groups(texts: Texts, vectors: np.ndarray, similarity: float) -> list[tuple[list[int], float]]:
    """The groups of texts that are linked by a cosine of at least `similarity`, the most similar first.

    Texts that are equal but for the space around them are linked too, whatever their vectors. Of each group: the
    places of its texts, and the cosine that every one of them has with another one at least.
    """
    numbers: dict[tuple[str, ...], int] = {}
    of_text = np.array([numbers.setdefault(text, len(numbers)) for text in stripped(texts)])
    _, first = np.unique(of_text, return_index=True)
    group_of_row = linked_rows(vectors[first], similarity)[of_text]
    order = np.argsort(group_of_row, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(group_of_row[order])) + 1)
    groups = [(part.tolist(), least_similar(part, of_text, vectors)) for part in parts if len(part) > 1]
    return sorted(groups, key=lambda group: (-group[1], group[0]))


def linked_rows(vectors: np.ndarray, similarity: float) -> np.ndarray:
    """The number of the group of each row (N,): rows that a chain of similar rows links are in one group."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from sklearn.neighbors import NearestNeighbors
    from sklearn.utils import gen_batches

    search = NearestNeighbors(radius=largest_distance(similarity), metric="cosine", algorithm="brute").fit(vectors)
    groups = np.arange(len(vectors))
    # Texts that are made from one template are all similar: all links at once would take N^2 of memory.
    blocks = gen_batches(len(vectors), BLOCK)
    for block in tracked(blocks, len(vectors), COMPARING, size=lambda block: block.stop - block.start):
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


def matches(vectors: np.ndarray, others: np.ndarray, similarity: float) -> list[tuple[int, list[int], float]]:
    """The other rows that have a similar row, in order.

    Of each: its place, the places of its rows, the most similar first, and the cosine with that one. A row stands with
    the other row that is most similar to it, and every other row has the row that is most similar to it. So every
    similar row is there, in at most N + M places; all pairs would be N M where texts have one template.
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
    return [(other, places, float(to_row[other])) for other, places in found.items()]


@doing(COMPARING)
def most_similar(vectors: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The highest cosine of each row (N,) with one of the other rows, and which one that is (N,)."""
    from sklearn.metrics import pairwise_distances_argmin_min

    places, distances = pairwise_distances_argmin_min(vectors, others, metric="cosine")
    return np.clip(1 - distances, -1, 1), places


def largest_distance(similarity: float) -> float:
    """The cosine distance up to which rows are nearly equal; it leaves room for rounding where similarity is 1."""
    return max(1 - similarity, NO_DISTANCE)


@doing(COMPARING)
def outlier_scores(vectors: np.ndarray) -> np.ndarray:
    """The mean cosine distance of each row to the `NEIGHBOURS` rows nearest to it (N,), from 0 to 2.

    Kuan and Mueller (2022), Back to the Basics: Revisiting Out-of-Distribution Detection Baselines, arXiv:2207.03061.
    """
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(vectors) - 1), metric="cosine", algorithm="brute")
    distances, _ = search.fit(vectors).kneighbors()
    return distances.mean(1)


def above_fence(scores: np.ndarray) -> np.ndarray:
    """Whether each score is above Tukey's upper fence, 1.5 interquartile ranges above the third quartile (N,) bool."""
    low, high = np.quantile(scores, [0.25, 0.75])
    return scores > high + FENCE * (high - low)
