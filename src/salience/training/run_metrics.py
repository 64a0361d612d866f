"""What metrics.json says of a run: its scores, its counts, and what its estimate found."""

from __future__ import annotations

from typing import Any

from salience.data.task import Task
from salience.training.abstaining import decided_scores
from salience.training.estimated_fit import EstimatedFit
from salience.training.held_out import HeldOutPredictions
from salience.training.judged_labels import judged_labels
from salience.training.passes import text_passes
from salience.training.preparing import Prepared
from salience.training.results import measure


def run_metrics(
    prepared: Prepared, task: Task, found: EstimatedFit, predictions: HeldOutPredictions, seconds: float
) -> dict[str, Any]:
    """The metrics of a run, without the measures beside its scores.

    Args:
        found: the trained classifier and its estimate.
        predictions: of the held-out parts.
        seconds: since the run began.
    """
    fitted, estimated = found.fitted, found.estimated
    metrics: dict[str, Any] = measure(task, predictions, prepared.recipe.seed) | {
        "rows": {role: rows.texts for role, rows in prepared.parts.items()} | {"training": prepared.rows},
        "steps": fitted.steps,
        "best_step": fitted.best_step,
        "text_passes": text_passes(prepared, fitted),
        "seconds": round(seconds, 1),
    }
    if fitted.iterations:
        metrics["iterations"] = fitted.iterations
    if estimated is not None:
        metrics["estimate"] = estimated.metrics
    if found.abstention is not None:
        metrics["abstention"] = dict(found.abstention.found)
        if "test" in predictions.probabilities:
            metrics["abstention"]["test"] = decided_scores(
                predictions.probabilities["test"], task.test.known_labels, found.abstention.thresholds, task.labels
            )
    if task.multi_label:
        thresholds = fitted.classifier.thresholds
        metrics["labels"] = judged_labels(task, metrics, predictions, estimated, thresholds)
    return metrics
