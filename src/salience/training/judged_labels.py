"""The scores of every label on the rows that a run is judged on."""

from __future__ import annotations

import numpy as np

from salience.data.task import Task
from salience.training.estimating import Estimated
from salience.training.held_out import HeldOutPredictions
from salience.training.judged_scores import judge_of
from salience.training.label_metrics import each_label


def judged_labels(
    task: Task, metrics: dict, predictions: HeldOutPredictions, estimated: Estimated | None, thresholds: np.ndarray
) -> dict[str, dict]:
    """The scores of every label on the rows that a run is judged on, as of `each_label`; empty if there are none.

    Args:
        task, metrics, predictions, estimated: as of `salience.training.results.RunResults`.
        thresholds: of the labels (C,).
    """
    judge = judge_of(metrics)
    if judge in ("test", "validation"):
        part = task.test if judge == "test" else task.validation
        probabilities, decided = predictions.probabilities[judge], predictions.decided[judge]
        return each_label(probabilities, part.known_labels, decided, task.labels, thresholds)
    if estimated is None or estimated.decided is None:
        return {}
    return each_label(
        estimated.probabilities, estimated.texts.known_labels, estimated.decided, task.labels, thresholds
    )
