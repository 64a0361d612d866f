"""The scores of every label on the rows that a run is judged on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from salience.data.task import Task
from salience.training.estimating import Estimated
from salience.training.label_metrics import each_label


def judged_labels(task: Task, metrics: dict, probabilities: dict[str, np.ndarray], decided: Mapping[str, np.ndarray],
                  estimated: Estimated | None, thresholds: np.ndarray) -> dict[str, dict]:  # fmt: skip
    """The scores of every label on the rows that a run is judged on, as of `each_label`; empty if there are none.

    Args:
        task, metrics, probabilities, decided, estimated: as of `salience.training.results.write_results`.
        thresholds: of the labels (C,).
    """
    judge = metrics.get("judged_on")
    if judge == "test" or (judge and estimated is None):
        part = task.test if judge == "test" else task.validation
        return each_label(probabilities[judge], part.known_labels, decided[judge], task.labels, thresholds)
    if estimated is None or estimated.decided is None:
        return {}
    return each_label(
        estimated.probabilities, estimated.texts.known_labels, estimated.decided, task.labels, thresholds
    )
