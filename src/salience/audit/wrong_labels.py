"""The rows whose label is likely wrong, as findings.

They are found by confident learning (Northcutt et al., 2021, arXiv:1911.00068, JAIR 70), by its authors' package
cleanlab with its default rule, "prune by noise rate" (Section 3.2, Method 4). It needs the probabilities of models
that were not trained on the rows, and nothing of the models themselves. N rows, C classes or labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from salience.audit.finding import Finding, named, rows_of
from salience.audit.out_of_fold import OutOfFold
from salience.data.task import Task


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
    label.

    Args:
        labels, probabilities: as of `likely_wrong`.
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
    wrong. The score is the largest of theirs.
    """
    if task.multi_label:
        return wrong_sets(task, predicted)
    labels, probabilities = task.training.known_labels[predicted.places], predicted.probabilities
    flagged, scores = likely_wrong(labels, probabilities), wrongness(labels, probabilities)
    rows = rows_of(task.training)
    return [
        Finding(
            "label", [rows[predicted.places[index]]], "relabel", float(scores[index]),
            {
                "label": task.labels[labels[index]],
                "suggested": task.labels[int(probabilities[index].argmax())],
                "probability_of_label": round(float(probabilities[index, labels[index]]), 6),
                "probability_of_suggested": round(float(probabilities[index].max()), 6),
            },
        )
        for index in np.argsort(-scores, kind="stable").tolist() if flagged[index]
    ]  # fmt: skip


def wrong_sets(task: Task, predicted: OutOfFold) -> list[Finding]:
    """As `wrong_labels`, where a text can have several labels.

    The details have the probability of each label that is likely wrong: a low one of a label that the row has, a high
    one of a label that it lacks.
    """
    labels, probabilities = task.training.known_labels[predicted.places], predicted.probabilities
    flagged, scores = np.zeros(labels.shape, bool), np.full(labels.shape, -1.0)
    for number, given, both in of_each_label(labels, probabilities):
        if number not in predicted.unseen:
            flagged[:, number] = likely_wrong(given, both)
            scores[:, number] = np.where(flagged[:, number], wrongness(given, both), -1)
    rows, largest = rows_of(task.training), scores.max(1)
    return [
        Finding(
            "label", [rows[predicted.places[index]]], "relabel", float(largest[index]),
            {
                "label": named(labels[index], task.labels),
                "suggested": named(labels[index] ^ flagged[index], task.labels),
                "probabilities": {
                    task.labels[number]: round(float(probabilities[index, number]), 6)
                    for number in np.flatnonzero(flagged[index])
                },
            },
        )
        for index in np.argsort(-largest, kind="stable").tolist() if flagged[index].any()
    ]  # fmt: skip
