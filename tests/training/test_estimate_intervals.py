"""Intervals of accuracy and macro-F1: against scipy, against every draw of a small bootstrap, and by counting."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom, binomtest
from sklearn.metrics import accuracy_score, f1_score

from salience.scores import intervals
from salience.scores.intervals import Confusions, accuracy_interval, macro_f1_interval, wilson_interval

LABELS = np.array([0, 0, 1, 2, 1, 0, 2, 1])
PREDICTED = np.array([0, 1, 1, 2, 2, 0, 0, 1])
GROUPS = np.array([7, 7, 3, 3, 9, 9, 9, 4])


@pytest.mark.parametrize(
    ("right", "rows"), [(0, 1), (1, 1), (0, 10), (10, 10), (7, 9), (42, 50), (84, 100), (1, 1000)]
)
def test_wilson(right, rows):
    expected = binomtest(right, rows).proportion_ci(method="wilson")
    assert wilson_interval(right, rows) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_worked_number():
    """42 of 50: the middle is (0.84 + 3.8415 / 100) / (1 + 3.8415 / 50), that is 0.8157."""
    low, high = accuracy_interval(np.zeros(50, int), np.arange(50) // 42, None)
    assert (low + high) / 2 == pytest.approx(0.8157, abs=5e-5)
    assert (round(low, 4), round(high, 4)) == (0.7149, 0.9166)


@pytest.mark.parametrize("share", [0.6, 0.75, 0.84, 0.9, 0.95])
@pytest.mark.parametrize("rows", [50, 100, 400])
def test_how_often_wilson_covers(share, rows):
    """The exact probability, over all numbers of right rows, which are whole: so it is not 95 % exactly."""
    inside = [low <= share <= high for low, high in (wilson_interval(right, rows) for right in range(rows + 1))]
    assert 0.93 < binom.pmf(np.arange(rows + 1), rows, share)[inside].sum() < 0.975


def every_draw(groups: np.ndarray | None) -> dict[str, np.ndarray]:
    """The scores of all draws of as many groups as there are, each as likely as any other, by a loop."""
    groups = np.arange(len(LABELS)) if groups is None else groups
    parts = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    found: dict[str, list[float]] = {"accuracy": [], "macro_f1": []}
    for drawn in itertools.product(parts, repeat=len(parts)):
        rows = np.concatenate(drawn)
        found["accuracy"].append(accuracy_score(LABELS[rows], PREDICTED[rows]))
        found["macro_f1"].append(f1_score(LABELS[rows], PREDICTED[rows], average="macro", zero_division=0))
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.parametrize("score", ["accuracy", "macro_f1"])
def test_replicates_are_the_draws_of_groups(score):
    """4 groups have 256 draws. Every value must be as frequent as among them, within 5 standard deviations."""
    expected, count = np.unique(every_draw(GROUPS)[score].round(9), return_counts=True)
    confusions = Confusions.of(LABELS, PREDICTED, GROUPS)
    values = np.concatenate([getattr(confusions, score)(counts) for counts in confusions.resampled(0)]).round(9)
    assert len(values) == intervals.REPLICATES
    shares = count / count.sum()
    assert np.isin(values, expected).all()
    found = np.array([(values == value).mean() for value in expected])
    assert (np.abs(found - shares) < 5 * np.sqrt(shares * (1 - shares) / len(values))).all()


def test_the_bounds_are_percentiles_of_all_draws():
    draws = every_draw(GROUPS)
    assert accuracy_interval(LABELS, PREDICTED, GROUPS) == pytest.approx(
        np.quantile(draws["accuracy"], [0.025, 0.975]), abs=0.03
    )
    assert macro_f1_interval(LABELS, PREDICTED, GROUPS) == pytest.approx(
        np.quantile(draws["macro_f1"], [0.025, 0.975]), abs=0.03
    )


def test_without_groups_rows_are_drawn():
    """As by a loop that draws rows one by one."""
    random = np.random.default_rng(1)
    labels, predicted = random.integers(0, 3, (2, 60))
    predicted = np.where(random.random(60) < 0.7, labels, predicted)
    drawn = random.integers(0, 60, (2000, 60))
    values = [f1_score(labels[rows], predicted[rows], average="macro", zero_division=0) for rows in drawn]
    found = macro_f1_interval(labels, predicted, None)
    assert found == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=0.02)
    assert found == pytest.approx(macro_f1_interval(labels, predicted, np.arange(60)[::-1]), abs=0.01)


def test_a_seed_repeats_the_interval_and_parts_do_not_matter(monkeypatch):
    one = macro_f1_interval(LABELS, PREDICTED, GROUPS, seed=3)
    assert one == macro_f1_interval(LABELS, PREDICTED, GROUPS, seed=3)
    monkeypatch.setattr(intervals, "CELLS", 30)
    assert one == macro_f1_interval(LABELS, PREDICTED, GROUPS, seed=3)


def test_nothing_varies_where_all_rows_are_right_or_all_are_wrong():
    labels, groups = np.array([0, 1, 1, 0]), np.array([0, 0, 1, 2])
    assert macro_f1_interval(labels, labels, groups) is None and macro_f1_interval(labels, 1 - labels, None) is None
    assert accuracy_interval(labels, labels, groups) == wilson_interval(3, 3)
    assert accuracy_interval(labels, 1 - labels, groups) == wilson_interval(0, 3)
    assert accuracy_interval(labels, labels, None) == wilson_interval(4, 4)


def test_groups_are_covered_where_rows_are_not(monkeypatch):
    """Rows of a group are right or wrong together: 40 groups of 5 rows, 300 times."""
    monkeypatch.setattr(intervals, "REPLICATES", 1000)
    random, groups = np.random.default_rng(0), np.repeat(np.arange(40), 5)
    covered = np.zeros(2)
    for seed in range(300):
        wrong = np.repeat(random.random(40) < 0.25, 5).astype(int)
        for place, by in enumerate((groups, None)):
            low, high = accuracy_interval(np.zeros(200, int), wrong, by, seed)
            covered[place] += low <= 0.75 <= high
    assert covered[0] > 0.9 * 300 and covered[1] < 0.75 * 300
