"""The table of scores of a run, and what is said of its intervals."""

from types import SimpleNamespace

import numpy as np
import pytest

from salience.report.run_page import CORRECTED, Calibration, not_within, scores_of
from salience.scores.intervals import Score
from salience.scores.predictions import Predictions


def parts_of(probabilities, labels):
    """The calibration error of test rows with these probabilities, its interval, and what is said of intervals."""
    judged = Predictions(probabilities, labels)
    run = SimpleNamespace(judge="test", recipe={"seed": 0}, metrics={"baselines": {}})
    *_, folded = scores_of(run, judged, Calibration(probabilities, None, probabilities, ""))
    table, intervals = (*folded.blocks, "")[:2]
    cell = table.rows[0][table.head.index("calibration error")]
    return float(cell.text), *map(float, cell.small.split(" to ")), intervals


def drawn(rows: int, confidence, generator):
    """Rows that are right as often as their confidence says: calibrated but for chance."""
    sure = np.full(rows, 0.0) + confidence
    labels = (generator.random(rows) >= sure).astype(int)
    return np.stack([sure, 1 - sure], 1), labels


def test_an_interval_beside_its_calibration_error_is_explained():
    generator = np.random.default_rng(3)
    value, _, high, said = parts_of(*drawn(60, generator.uniform(0.5, 1, 60), generator))
    assert value > high  # the case that is meant
    assert said.endswith(CORRECTED)


def test_an_interval_around_its_calibration_error_is_not():
    generator = np.random.default_rng(0)
    probabilities, _ = drawn(400, 0.9, generator)
    # right half of the time, at a confidence of 0.9
    value, low, high, said = parts_of(probabilities, np.arange(400) % 2)
    assert low < value < high and CORRECTED not in said


@pytest.mark.parametrize(
    ("interval", "outside"), [((0.0, 0.105), True), ((0.2, 0.3), True), ((0.1, 0.2), False), ((0.1, 0.1213), False),
                              (None, False)],
)  # fmt: skip
def test_within_is_meant_as_the_page_shows_it(interval, outside):
    assert not_within(Score(0.1214, interval)) is outside
