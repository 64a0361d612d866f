"""What the report of a run shows in place of confusions where a text can have several labels."""

from __future__ import annotations

from typing import Any

from salience.training.finished_run import FinishedRun
from salience.training.judged_scores import judged_scores
from salience.training.label_precision import precision_sentences
from salience.training.scoring import OF_SEVERAL

COLUMNS = {
    "rows": "rows", "predicted": "predicted", "precision": "precision", "recall": "recall", "f1": "F1",
    "average_precision": "average precision", "log_loss": "log loss", "threshold": "threshold",
}  # fmt: skip


def label_parts(run: FinishedRun) -> dict[str, Any]:
    """The tables of the models and of the labels; empty if each text has one label, or nothing was measured.

    Returns:
        "heads" and "scores", the table of the model and the baselines; "columns" and "labels", that of the labels;
        "crossed", whether the decisions are those of the estimate and cross-fitted; and "precise", the
        `precision_sentences`.
    """
    judged = judged_scores(run.metrics) if run.metrics.get("labels") else None
    if judged is None:
        return {}
    precise = precision_sentences(run.metrics)
    return {
        "heads": list(OF_SEVERAL.shown.values()),
        "scores": [(name, [cell(scores[each]) for each in OF_SEVERAL.shown]) for name, scores in judged[1].items()],
        "columns": list(COLUMNS.values()),
        "labels": [
            (label, [cell(scores[each]) for each in COLUMNS]) for label, scores in run.metrics["labels"].items()
        ],
        "crossed": run.judged is not None and run.judged.kind == "estimate" and not precise,
        "precise": precise,
    }


def cell(value: float | int | None) -> str:
    """A number as the table shows it: '-' where it is undefined."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
