"""The rows whose label is likely wrong, as findings."""

from __future__ import annotations

import numpy as np

from salience.audit.confident_learning import likely_wrong, of_each_label, wrongness
from salience.audit.finding import Finding, named, rows_of
from salience.audit.out_of_fold import OutOfFold
from salience.data.task import Task


def wrong_labels(task: Task, predicted: OutOfFold) -> list[Finding]:
    """The rows whose label is likely wrong, by confident learning. The score is `wrongness`.

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
