"""Which predictions of a run are wrong, the most confident first."""

from __future__ import annotations

import numpy as np

from salience.models.thresholds import HALF
from salience.training.finished_run import FinishedRun, JudgedRows
from salience.training.label_thresholds import cross_thresholds


def confident_errors(judged: JudgedRows, thresholds: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The places of the rows (E,) and the numbers of the labels (E,) of all errors, the most confident first.

    Where a text has one label, an error is a wrong prediction, and its confidence the probability of the predicted
    class. Where it can have several, each wrong decision about a label is an error, and its confidence the distance of
    the probability from the threshold of the label.

    Args:
        thresholds: as of `decision_thresholds`.
    """
    if thresholds is None:
        wrong = judged.decisions & (judged.predicted != judged.labels)[:, None]
        confidence = judged.probabilities
    else:
        wrong, confidence = judged.decisions != judged.labels, np.abs(judged.probabilities - thresholds)
    rows, labels = np.nonzero(wrong)
    order = np.argsort(-confidence[rows, labels], kind="stable")
    return rows[order], labels[order]


def decision_thresholds(run: FinishedRun, judged: JudgedRows) -> np.ndarray | None:
    """The thresholds (N, C) that decided about each label of each judged row; None where a text has one label.

    In an estimate, the thresholds of a row are those that are best on the other half of the rows; for a target
    precision, those that all rows have found.
    """
    if judged.decided is None:
        return None
    if judged.kind != "estimate" or "label_precision" in run.metrics["estimate"]:
        own = [run.metrics["labels"][label]["threshold"] for label in run.labels]
        return np.broadcast_to(np.array(own), judged.labels.shape)
    if not run.metrics["estimate"]["label_thresholds"]:
        return np.full(judged.labels.shape, HALF)
    return cross_thresholds(judged.probabilities, judged.labels, judged.groups, int(run.recipe["seed"]))
