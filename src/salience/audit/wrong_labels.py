"""What out-of-fold probabilities say of labels: which are likely wrong, how many, and which classes are alike.

Wrong labels are found by confident learning (Northcutt et al., 2021, arXiv:1911.00068, JAIR 70), by its authors'
package cleanlab with its default rule, "prune by noise rate" (Section 3.2, Method 4). N rows, C classes or labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from salience.audit.findings import Finding, named
from salience.data.task import Task
from salience.scores.predictions import Predictions

LOWEST = 0.75  # areas below this are reported: one pair of rows in four is in the wrong order
LEAST = 10  # rows that each of two classes needs; the area of fewer is chance


def likely_wrong(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Whether each of the `labels` (N,) is likely wrong (N,) bool; without two classes, none is."""
    if len(np.unique(labels)) < 2:
        return np.zeros(len(labels), bool)
    from cleanlab.filter import find_label_issues  # here: it takes seconds to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a class with a single row is not judged
        return find_label_issues(labels, probabilities, n_jobs=1)


def estimated_counts(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The estimated number of rows with the given label i that are of class j (C, C) int64 (Eq. 3, times N)."""
    if len(np.unique(labels)) < 2:
        return np.diag(np.bincount(labels, minlength=probabilities.shape[1]))
    from cleanlab.count import compute_confident_joint

    return compute_confident_joint(labels, probabilities)


def wrongness(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The probability of the most probable other class minus that of the given label (N,), from -1 to 1.

    This is the normalised margin of the paper (Section 3.2) with the sign turned.
    """
    places = np.arange(len(labels))
    others = probabilities.copy()
    others[places, labels] = -np.inf
    return others.max(1) - probabilities[places, labels]


def of_each_label(predicted: Predictions) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """The number of each label, and as of two classes, "no" and "yes", its labels (N,) and probabilities (N, 2).

    A label whose rows are all in one fold is left out: the model that predicted these rows has not seen it.
    """
    for number, (given, yes) in enumerate(zip(predicted.labels.T, predicted.probabilities.T, strict=True)):
        if predicted.folds is None or len(np.unique(predicted.folds[given == 1])) != 1:
            yield number, given, np.stack([1 - yes, yes], axis=1)


def wrong_labels(task: Task, predicted: Predictions) -> list[Finding]:
    """The rows whose label is likely wrong. The score is `wrongness`.

    Where texts are multi-label, each is judged by itself, and a row is one finding with all that are likely
    wrong, and with the largest of their scores.
    """
    labels, probabilities = predicted.labels, predicted.probabilities
    if task.multi_label:
        flagged, largest = np.zeros(labels.shape, bool), np.full(labels.shape, -1.0)
        for number, given, both in of_each_label(predicted):
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

    rows = np.asarray(predicted.rows).tolist()
    return [
        Finding("label", [rows[index]], "relabel", float(scores[index]), details(index))
        for index in np.argsort(-scores, kind="stable").tolist() if flagged[index].any()
    ]  # fmt: skip


def share_of_right(task: Task, predicted: Predictions) -> float:
    """The share of rows whose label is the most probable one; with several, of decisions about labels at 0.5."""
    decided = predicted.probabilities >= 0.5 if task.multi_label else predicted.predicted
    return float((decided == predicted.labels).mean())


def noise_counts(task: Task, predicted: Predictions) -> np.ndarray:
    """The `estimated_counts` (C, C) of the classes; with several labels those of each (C, 2, 2), of "no" and "yes"."""
    if not task.multi_label:
        return estimated_counts(predicted.labels, predicted.probabilities)
    counts = np.array([np.diag(np.bincount(given, minlength=2)) for given in predicted.labels.T])
    for number, given, both in of_each_label(predicted):
        counts[number] = estimated_counts(given, both)
    return counts


def share_of_wrong(counts: np.ndarray) -> float:
    """The share of the labels, or of the decisions about labels, that is estimated to be wrong, by `noise_counts`."""
    return float(1 - counts.trace(axis1=-2, axis2=-1).sum() / counts.sum())


def most_mistaken(counts: np.ndarray, labels: Sequence[str], most: int) -> list[tuple[str, str, int, float]]:
    """The labels that are most often wrong in one way, by `noise_counts`, those of the most rows first.

    Of each: the label that rows have; the likely one, or "has it" or "lacks it" where a text can have several; the
    estimated number of the rows; and their share of all rows with the label, or without it.
    """
    tables: list[tuple[np.ndarray, Sequence[str], Sequence[str]]]
    if counts.ndim == 3:
        tables = [(each, (label, label), ("lacks it", "has it")) for label, each in zip(labels, counts, strict=True)]
    else:
        tables = [(counts, labels, labels)]
    found = [
        (owned[given], due[likely], int(each[given, likely]), float(each[given, likely] / each[given].sum()))
        for each, owned, due in tables for given, likely in np.argwhere(each).tolist() if given != likely
    ]  # fmt: skip
    return sorted(found, key=lambda each: -each[2])[:most]


def alike_classes(task: Task, predicted: Predictions) -> list[Finding]:
    """The pairs of classes with an area below `LOWEST`, the lowest first. The score is 1 minus the area.

    Only pairs of which a row is predicted as the other class are looked at; these are the rows of the finding.
    """
    labels, probabilities = predicted.labels, predicted.probabilities
    guesses, sizes = predicted.predicted, np.bincount(labels, minlength=len(task.labels))
    rows = np.asarray(predicted.rows).tolist()
    confused: dict[tuple[int, int], list[int]] = {}
    for place in np.flatnonzero(guesses != labels).tolist():
        one, other = sorted((int(labels[place]), int(guesses[place])))
        confused.setdefault((one, other), []).append(rows[place])
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

    Hand and Till (2001), doi 10.1023/A:1010920819831, Section 3.
    """
    from sklearn.metrics import roc_auc_score

    rows = np.flatnonzero((labels == one) | (labels == other))
    areas = [roc_auc_score(labels[rows] == number, probabilities[rows, number]) for number in (one, other)]
    return float(np.mean(areas))
