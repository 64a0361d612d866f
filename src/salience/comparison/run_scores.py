"""The scores of a run of a comparison: those of each test row, or one number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from salience.comparison.grid import Run, mixed_data_sets
from salience.comparison.kept_runs import KeptRun
from salience.training.label_metrics import AT_THRESHOLDS
from salience.training.measured_scores import Column, Measure
from salience.training.measures import MEASURES
from salience.training.scoring import IN_PERCENT, Scoring

SCALED = "calibration_error_scaled"  # with a temperature, as metrics.json has it
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
    """The scores of a run: those of each test row (N,), or one number; those of `IN_PERCENT` in percent.

    Runs of a comparison have no estimate, so that all labels have the threshold 0.5, and no scores at others are kept.
    The intervals of a single run are left out, too.
    """
    by_row = run.scoring.row_scores(run.probabilities, run.labels)
    tested = run.metrics["test"].items()
    whole = {name: number(value) for name, value in tested if not name.endswith((AT_THRESHOLDS, "_interval"))}
    scaled = run.metrics["temperature_scaling"]
    whole |= {name: np.array(scaled[name]) for name in ("temperature", SCALED) if name in scaled}
    # References have no passes.
    spent = {name: np.array(run.metrics[name]) for name in ("text_passes", "seconds") if name in run.metrics}
    measured = {
        score: number(run.metrics[name][score]) * column.scale
        for name, of_measure in columns.items() for score, column in of_measure.items()
        if score in run.metrics.get(name, {})
    }  # fmt: skip
    found = {name: value * (100 if name in IN_PERCENT else 1) for name, value in (whole | by_row).items()}
    return found | measured | spent


def number(value: float | None) -> np.ndarray:
    """A value of JSON as a number; NaN where it is null."""
    return np.array(math.nan if value is None else value)


def finite(value: Any) -> Any:
    """A JSON value with null in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def same_scoring(runs: Mapping[Run, KeptRun]) -> Scoring:
    """How all runs are scored.

    Raises:
        InputError: some data sets have one label for each text, and others several.
    """
    first, *others = runs.items()
    for (condition, _, _), run in others:
        if run.scoring is not first[1].scoring:
            raise mixed_data_sets(first[0][0].data, condition.data)
    return first[1].scoring
