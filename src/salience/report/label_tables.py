"""What the report of a run shows in place of confusions where a text can have several labels."""

from __future__ import annotations

from typing import Any

from salience.training.finished_run import FinishedRun
from salience.training.label_precision import precision_sentences

COLUMNS = {
    "rows": "rows", "predicted": "predicted", "precision": "precision", "recall": "recall", "f1": "F1",
    "average_precision": "average precision", "log_loss": "log loss", "threshold": "threshold",
}  # fmt: skip


def label_parts(run: FinishedRun) -> dict[str, Any]:
    """The table of the labels; empty if each text has one label, or nothing was measured.

    Returns:
        "heads" and "rows"; and "precise", the `precision_sentences`.
    """
    found = run.metrics.get("labels")
    if not found:
        return {}
    rows = [(label, [cell(scores[each]) for each in COLUMNS]) for label, scores in found.items()]
    return {"heads": list(COLUMNS.values()), "rows": rows, "precise": precision_sentences(run.metrics)}


def cell(value: float | int | None) -> str:
    """A number as the table shows it: '-' where it is undefined."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
