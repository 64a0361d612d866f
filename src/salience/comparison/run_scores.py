"""The scores of a run of a comparison: those of each test row, or one number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from salience.comparison.kept_runs import KeptRun
from salience.training.measured_scores import Column, Measure
from salience.training.measures import MEASURES
from salience.training.metrics import row_scores

SCALED = "calibration_error_scaled"  # with a temperature, as metrics.json has it
IN_PERCENT = dict.fromkeys(("accuracy", "macro_f1"), 100)
Columns = dict[str, dict[str, Column]]  # measure to its columns


def columns_of(runs: Iterable[KeptRun], measures: Mapping[str, Measure]) -> Columns:
    """The numbers of measures that some run has.

    Args:
        runs: the finished runs.
        measures: measures beside those of `MEASURES`, or in the place of those of the same names.
    """
    runs = list(runs)
    found: Columns = {}
    for name, measure in (MEASURES | dict(measures)).items():
        measured = {each for run in runs for each in run.metrics.get(name, {})}
        found[name] = {score: column for score, column in measure.columns.items() if score in measured}
    return found


def values_of(run: KeptRun, columns: Columns) -> dict[str, np.ndarray]:
    """The scores of a run: those of each test row (N,), or one number; accuracy and macro-F1 in percent."""
    by_row = row_scores(run.probabilities, run.labels)
    whole = {name: number(value) for name, value in run.metrics["test"].items()}
    scaled = run.metrics.get("temperature_scaling", {})  # references of earlier versions have none
    whole |= {name: np.array(scaled[name]) for name in ("temperature", SCALED) if name in scaled}
    # References have no passes, and earlier versions did not count them.
    spent = {name: np.array(run.metrics[name]) for name in ("text_passes", "seconds") if name in run.metrics}
    measured = {
        score: number(run.metrics[name][score]) * column.scale
        for name, of_measure in columns.items() for score, column in of_measure.items()
        if score in run.metrics.get(name, {})
    }  # fmt: skip
    found = {name: value * IN_PERCENT.get(name, 1) for name, value in (whole | by_row).items()}
    return found | measured | spent


def number(value: float | None) -> np.ndarray:
    """A value of JSON as a number; NaN where it is null."""
    return np.array(math.nan if value is None else value)
