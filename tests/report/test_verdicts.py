"""Verdicts say in words what the intervals show, and what more runs could show."""

from pathlib import Path

import numpy as np
import pytest

from salience.comparison.comparison import Comparison
from salience.comparison.grid import Condition, Grid
from salience.comparison.results import results_of
from salience.report.comparison_page import verdict, verdicts
from salience.runs.results import Run
from salience.scores.predictions import Predictions
from salience.training.recipe import Recipe

SEEDS = (0, 1, 2)


def run(right: np.ndarray, seconds: float) -> Run:
    """A run whose first class is right where `right` says so."""
    probabilities = np.where(right[:, None], [0.9, 0.1], [0.2, 0.8]).astype(np.float32)
    metrics = {"test": {"macro_f1": 0.5, "calibration_error": 0.1, "log_loss": 0.3}, "seconds": seconds}
    metrics["temperature_scaling"] = {}
    predictions = Predictions(probabilities, np.zeros(len(right), int))
    return Run(Path(), {}, metrics, ["a", "b"], predictions, [], None)


def compared(gains, rows=4000, sets=("one",), seconds=(10, 21)):
    """A comparison of ssmix with plain, whose accuracy is 50 % and which it exceeds by a gain a seed, in points."""
    grid = Grid(
        {name: Recipe("data.csv", method=name) for name in ("plain", "ssmix")},
        SEEDS,
        data_sets={name: {} for name in sets},
    )
    half = np.arange(rows) < rows // 2
    runs = {}
    for name in sets:
        for seed, gain in zip(SEEDS, gains, strict=True):
            runs[Condition(name, "minilm", None), "plain", seed] = run(half, seconds[0])
            more = np.arange(rows) < rows // 2 + rows * gain / 100
            runs[Condition(name, "minilm", None), "ssmix", seed] = run(more, seconds[1])
    return Comparison(list(SEEDS), *results_of(grid, runs))


def test_a_gain_beyond_chance_and_its_cost():
    (line,) = verdicts(compared([9, 10, 11]))
    assert line.startswith("ssmix: gain over plain: +10.0 points [+")
    assert line.endswith("], at 2.1 times its time")
    (line,) = verdicts(compared([-9, -10, -11]))
    assert line.startswith("ssmix: loss against plain: -10.0 points [-")


def test_no_difference_and_the_seeds_that_would_show_one():
    comparison = compared([-1, 0.5, 1], rows=200_000)
    (line,) = verdicts(comparison)
    needed = comparison.conditions[0].differences["ssmix"]["accuracy"].needed.draws
    assert line.startswith("ssmix: too few runs to tell from plain: +0.2 points [")
    assert line.endswith(f"; {needed:.0f} seeds would show half a point") and 3 < needed < 1000


def test_a_gain_on_few_rows_is_not_believed():
    """The same rows and gains as in a clear result, but twenty test rows: another twenty might say otherwise."""
    (line,) = verdicts(compared([5, 10, 15], rows=20))
    assert "too few runs to tell from plain" in line
    assert "half a point needs more test rows, which alone give ±" in line


def test_equal_runs_have_no_interval():
    (line,) = verdicts(compared([0, 0, 0]))
    assert line == "ssmix: no interval, because the difference to plain is the same with every seed"


def test_several_data_sets_are_named_and_summed_up():
    comparison = compared([9, 10, 11], sets=("one", "two"))
    lines = verdicts(comparison)
    assert [line.partition(":")[0] for line in lines] == ["one, ssmix", "two, ssmix", "over all data sets, ssmix"]
    (over,) = comparison.over_data_sets
    assert over.here["ssmix"].mean == pytest.approx(10)
    assert "times its time" not in lines[-1]


def test_macro_f1_and_accuracy_are_in_percent():
    comparison = compared([9, 10, 11])
    scores = comparison.conditions[0].scores
    assert scores["plain"]["accuracy"] == [50, 50, 50] and scores["plain"]["macro_f1"] == [50, 50, 50]
    assert scores["ssmix"]["accuracy"] == pytest.approx([59, 60, 61])
    assert scores["plain"]["log_loss"] == pytest.approx([(-np.log(0.9) - np.log(0.2)) / 2] * 3)
    frame = comparison.frame()
    assert list(frame["seconds"]) == [10] * 3 + [21] * 3 and list(frame["seed"]) == [0, 1, 2] * 2


def test_no_interval_at_all():
    difference = compared([0, 0, 0]).conditions[0].differences["ssmix"]["accuracy"]
    assert "data, 50 rows, ssmix: no interval" in verdict("ssmix", difference, "plain", "data, 50 rows")
