"""What out-of-fold probabilities say of labels: which are likely wrong, how many, and which classes are alike.

Wrong labels are found by confident learning (Northcutt et al., 2021, arXiv:1911.00068, JAIR 70), by its authors'
package cleanlab with its default rule, "prune by noise rate" (Section 3.2, Method 4). Classes are told apart by the
area under the ROC curve of two of them (Hand and Till, 2001, doi 10.1023/A:1010920819831, Section 3). N rows, C
classes or labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from salience.audit.findings import Finding, OutOfFold, named, rows_of
from salience.data.task import Task

LOWEST = 0.75  # areas below this are reported: one pair of rows in four is in the wrong order
LEAST = 10  # rows that each of two classes needs; the area of fewer is chance


def likely_wrong(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Whether the label of each row is likely wrong (N,) bool.

    Args:
        labels: (N,) class numbers. Without two of them, none is wrong.
        probabilities: (N, C), each row by a model that was not trained on it.
    """
    if len(np.unique(labels)) < 2:
        return np.zeros(len(labels), bool)
    from cleanlab.filter import find_label_issues  # here: it takes seconds to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a class with a single row is not judged
        return find_label_issues(labels, probabilities, n_jobs=1)


def estimated_counts(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The estimated number of rows with the given label i that are of class j (C, C) int64 (Eq. 3, times N).

    Args:
        labels, probabilities: as of `likely_wrong`.
    """
    if len(np.unique(labels)) < 2:
        return np.diag(np.bincount(labels, minlength=probabilities.shape[1]))
    from cleanlab.count import compute_confident_joint

    return compute_confident_joint(labels, probabilities)


def wrongness(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The probability of the most probable other class minus that of the given label (N,), from -1 to 1.

    This is the normalised margin of the paper (Section 3.2) with the sign turned: the largest is the least likely
    label. Arguments as of `likely_wrong`.
    """
    places = np.arange(len(labels))
    others = probabilities.copy()
    others[places, labels] = -np.inf
    return others.max(1) - probabilities[places, labels]


def of_each_label(labels: np.ndarray, probabilities: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Each of several labels as two classes, "no" and "yes", as `cleanlab.multilabel_classification` takes them.

    Args:
        labels: (N, C), 0 and 1.
        probabilities: (N, C), each of a label by itself.

    Yields:
        The number of a label, class numbers 0 and 1 (N,), and the probabilities of both (N, 2).
    """
    for number, (given, yes) in enumerate(zip(labels.T, probabilities.T, strict=True)):
        yield number, given, np.stack([1 - yes, yes], axis=1)


def wrong_labels(task: Task, predicted: OutOfFold) -> list[Finding]:
    """The rows whose label is likely wrong. The score is `wrongness`.

    Where a text can have several labels, each is judged by itself, and a row is one finding with all that are likely
    wrong: with the low probability of one that it has, and the high one of one that it lacks. The score is the largest
    of theirs.
    """
    labels, probabilities = task.training.known_labels[predicted.places], predicted.probabilities
    if task.multi_label:
        flagged, largest = np.zeros(labels.shape, bool), np.full(labels.shape, -1.0)
        for number, given, both in of_each_label(labels, probabilities):
            if number not in predicted.unseen:
                flagged[:, number] = likely_wrong(given, both)
                largest[:, number] = np.where(flagged[:, number], wrongness(given, both), -1)
        scores = largest.max(1)
    else:
        flagged, scores = likely_wrong(labels, probabilities)[:, None], wrongness(labels, probabilities)

    def details(index: int) -> dict[str, Any]:
        label, own = labels[index], probabilities[index]
        if task.multi_label:
            return {
                "label": named(label, task.labels), "suggested": named(label ^ flagged[index], task.labels),
                "probabilities": {task.labels[number]: round(float(own[number]), 6)
                                  for number in np.flatnonzero(flagged[index])},
            }  # fmt: skip
        return {
            "label": task.labels[label], "suggested": task.labels[int(own.argmax())],
            "probability_of_label": round(float(own[label]), 6),
            "probability_of_suggested": round(float(own.max()), 6),
        }  # fmt: skip

    rows = rows_of(task.training)
    return [
        Finding("label", [rows[predicted.places[index]]], "relabel", float(scores[index]), details(index))
        for index in np.argsort(-scores, kind="stable").tolist() if flagged[index].any()
    ]  # fmt: skip


def share_of_right(task: Task, predicted: OutOfFold) -> float:
    """The share of rows whose label is the most probable one; with several, of decisions about labels at 0.5."""
    labels = task.training.known_labels[predicted.places]
    decided = predicted.probabilities >= 0.5 if task.multi_label else predicted.probabilities.argmax(1)
    return float((decided == labels).mean())


def noise_counts(task: Task, predicted: OutOfFold) -> np.ndarray:
    """The `estimated_counts` (C, C) of the classes; with several labels those of each (C, 2, 2), of "no" and "yes"."""
    labels = task.training.known_labels[predicted.places]
    if not task.multi_label:
        return estimated_counts(labels, predicted.probabilities)
    return np.array([
        np.diag(np.bincount(given, minlength=2)) if number in predicted.unseen else estimated_counts(given, both)
        for number, given, both in of_each_label(labels, predicted.probabilities)
    ])  # fmt: skip


def share_of_wrong(counts: np.ndarray) -> float:
    """The share of the labels, or of the decisions about labels, that is estimated to be wrong, by `noise_counts`."""
    return float(1 - counts.trace(axis1=-2, axis2=-1).sum() / counts.sum())


def most_mistaken(counts: np.ndarray, labels: Sequence[str], most: int) -> list[tuple[str, str, int, float]]:
    """The labels that are most often wrong in one way, those of the most rows first, at most `most` of them.

    Args:
        counts: as of `noise_counts`.
        labels: the names of the C classes or labels.

    Returns:
        The label that rows have; the one that they should have, or "has it" or "lacks it" where a text can have
        several labels; the estimated number of the rows; and their share of all rows with the label, or without it.
    """
    if counts.ndim == 3:
        names, order = ("lacks it", "has it"), ((0, 1), (1, 0))
        found = [
            (label, names[likely], int(each[given, likely]), float(each[given, likely] / each[given].sum()))
            for label, each in zip(labels, counts, strict=True) for given, likely in order if each[given, likely]
        ]  # fmt: skip
    else:
        found = [
            (labels[given], labels[likely], int(counts[given, likely]),
             float(counts[given, likely] / counts[given].sum()))
            for given, likely in np.argwhere(counts).tolist() if given != likely
        ]  # fmt: skip
    return sorted(found, key=lambda each: -each[2])[:most]


def alike_classes(task: Task, predicted: OutOfFold) -> list[Finding]:
    """The pairs of classes with an area below `LOWEST`, the lowest first. The score is 1 minus the area.

    Only pairs of which a row is predicted as the other class are looked at; these are the rows of the finding.
    """
    labels, probabilities = task.training.known_labels[predicted.places], predicted.probabilities
    guesses, sizes = probabilities.argmax(1), np.bincount(labels, minlength=len(task.labels))
    rows = rows_of(task.training)
    confused: dict[tuple[int, int], list[int]] = {}
    for place in np.flatnonzero(guesses != labels).tolist():
        one, other = sorted((int(labels[place]), int(guesses[place])))
        confused.setdefault((one, other), []).append(rows[predicted.places[place]])
    areas = {pair: area(labels, probabilities, *pair) for pair in confused if min(sizes[list(pair)]) >= LEAST}
    return [
        Finding(
            "classes", confused[pair], "merge the classes, or define them more clearly", 1 - found,
            {"labels": [task.labels[number] for number in pair], "area": round(found, 6)},
        )
        for pair, found in sorted(areas.items(), key=lambda each: each[::-1]) if found < LOWEST
    ]  # fmt: skip


def area(labels: np.ndarray, probabilities: np.ndarray, one: int, other: int) -> float:
    """A(i, j) = (A(i | j) + A(j | i)) / 2, where A(i | j) is the share of pairs of rows that p(i) orders rightly.

    Args:
        labels: (N,) class numbers.
        probabilities: (N, C).
        one, other: the numbers of two classes with rows.
    """
    from sklearn.metrics import roc_auc_score

    rows = np.flatnonzero((labels == one) | (labels == other))
    areas = [roc_auc_score(labels[rows] == number, probabilities[rows, number]) for number in (one, other)]
    return float(np.mean(areas))
