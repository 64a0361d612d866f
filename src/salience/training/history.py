"""The loss and the validation scores over the steps of a run, kept as history.json in its folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

HISTORY = "history.json"
# What the Trainer calls the values that are kept, and their names in the file.
KEPT = {
    "loss": "loss",
    "eval_accuracy": "validation_accuracy",
    "eval_macro_f1": "validation_macro_f1",
    "eval_micro_f1": "validation_micro_f1",
    "eval_ranking_precision": "validation_ranking_precision",
    "eval_log_loss": "validation_log_loss",
}


def history_of(logs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The points of the curves, one for each step at which something was measured, in order.

    Times and learning rates are left out: the file is the same if the run is repeated.

    Args:
        logs: the `log_history` of the Trainer's state.

    Returns:
        For each point "step", and what was measured there of "loss" (the training loss, mean over the steps since the
        point before), "validation_accuracy", "validation_macro_f1" and "validation_log_loss"; where a text can have
        several labels, "validation_micro_f1" and "validation_ranking_precision" in place of the accuracy. Numbers that
        are not finite are None.
    """
    points: dict[int, dict[str, Any]] = {}
    for log in logs:
        found = {name: finite(log[logged]) for logged, name in KEPT.items() if logged in log}
        if found:
            step = int(log["step"])
            points.setdefault(step, {"step": step}).update(found)
    return [points[step] for step in sorted(points)]


def finite(value: float) -> float | None:
    """None for NaN and infinity, which JSON cannot write."""
    return float(value) if isfinite(value) else None
