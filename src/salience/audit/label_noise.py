"""How many labels of the rows are right and wrong, and which are mistaken for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from salience.audit.out_of_fold import OutOfFold
from salience.audit.wrong_labels import estimated_counts, of_each_label
from salience.data.task import Task


class Mistaken(NamedTuple):
    """Rows that are estimated to have a wrong label.

    Attributes:
        given: the label of the rows; of several labels, the one that they have or lack by mistake.
        likely: the label that they should have; of several labels, "has it" or "lacks it".
        rows: their estimated number.
        share: of the rows with the label `given`; of several labels, of all rows that have it, or that lack it.
    """

    given: str
    likely: str
    rows: int
    share: float


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
    """The share of the labels, or of the decisions about labels, that is estimated to be wrong.

    Args:
        counts: as of `noise_counts`.
    """
    return float(1 - counts.trace(axis1=-2, axis2=-1).sum() / counts.sum())


def most_mistaken(counts: np.ndarray, labels: Sequence[str], most: int) -> list[Mistaken]:
    """The labels that are most often wrong in one way, those of the most rows first, at most `most` of them.

    Args:
        counts: as of `noise_counts`.
        labels: the names of the C classes or labels.
    """
    if counts.ndim == 3:
        found = [
            Mistaken(label, "has it" if likely else "lacks it", int(each[given, likely]),
                     float(each[given, likely] / each[given].sum()))
            for label, each in zip(labels, counts, strict=True) for given, likely in ((0, 1), (1, 0))
            if each[given, likely]
        ]  # fmt: skip
    else:
        found = [
            Mistaken(labels[given], labels[true], int(counts[given, true]),
                     float(counts[given, true] / counts[given].sum()))
            for given, true in np.argwhere(counts).tolist() if given != true
        ]  # fmt: skip
    return sorted(found, key=lambda each: -each.rows)[:most]
