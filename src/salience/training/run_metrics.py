"""What metrics.json says of a run: its scores, its counts, and what its estimate found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from salience.data.task import Task
from salience.inference.abstaining import Thresholds
from salience.training.abstaining import abstention, decided_scores
from salience.training.estimating import Estimated
from salience.training.fitting import Fitted
from salience.training.held_out import HeldOutPredictions
from salience.training.judged_labels import judged_labels
from salience.training.passes import text_passes
from salience.training.preparing import Prepared
from salience.training.results import measure


@dataclass(frozen=True)
class Abstention:
    """The thresholds below which the classifier of a run abstains, and what is known of them.

    Attributes:
        thresholds: of the labels.
        found: as of `salience.training.abstaining.abstention`.
    """

    thresholds: Thresholds
    found: dict[str, Any]

    @classmethod
    def of(cls, estimated: Estimated, labels: Sequence[str], target: float, seed: int) -> Abstention:
        """The thresholds for a target precision, by the rows of the estimate."""
        return cls(*abstention(
            estimated.probabilities, estimated.texts.known_labels, labels, target, estimated.divisor,
            estimated.groups, seed,
        ))  # fmt: skip


def run_metrics(
    prepared: Prepared, task: Task, fitted: Fitted, predictions: HeldOutPredictions, estimated: Estimated | None,
    abstained: Abstention | None, seconds: float,
) -> dict[str, Any]:  # fmt: skip
    """The metrics of a run, without the measures beside its scores.

    Args:
        estimated: the estimate; None if there is none.
        abstained: the thresholds of abstention; None if none were asked for.
        seconds: since the run began.
    """
    metrics: dict[str, Any] = measure(task, predictions) | {
        "rows": {role: rows.texts for role, rows in prepared.parts.items()} | {"training": prepared.rows},
        "steps": fitted.steps,
        "best_step": fitted.best_step,
        "text_passes": text_passes(prepared, fitted),
        "seconds": round(seconds, 1),
    }
    if prepared.unlabelled is not None:
        metrics["rows"]["unlabelled"] = len(prepared.unlabelled)
    if fitted.iterations:
        metrics["iterations"] = fitted.iterations
    if fitted.choice:
        metrics["choice"] = fitted.choice
    if estimated is not None:
        metrics["estimate"] = estimated.metrics
    if abstained is not None:
        metrics["abstention"] = dict(abstained.found)
        if "test" in predictions.probabilities:
            metrics["abstention"]["test"] = decided_scores(
                predictions.probabilities["test"], task.test.known_labels, abstained.thresholds, task.labels
            )
    if task.multi_label:
        thresholds = fitted.classifier.thresholds
        metrics["labels"] = judged_labels(task, metrics, predictions, estimated, thresholds)
    return metrics
