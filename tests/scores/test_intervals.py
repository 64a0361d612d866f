"""Intervals of scores: against scipy, slow loops, every draw of a small bootstrap, and by counting."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom, binomtest
from sklearn import metrics as sk
from sklearn.metrics import accuracy_score, f1_score, log_loss

from salience.scores import intervals
from salience.scores.intervals import (
    RESAMPLES,
    accuracy_interval,
    f1_intervals,
    macro_f1_interval,
    wilson_interval,
)
from salience.scores.labels import ONE_LABEL, SEVERAL_LABELS

LABELS = np.array([0, 0, 1, 2, 1, 0, 2, 1])
PREDICTED = np.array([0, 1, 1, 2, 2, 0, 0, 1])
GROUPS = np.array([7, 7, 3, 3, 9, 9, 9, 4])


def test_wilson():
    for right, rows in [(0, 1), (1, 1), (0, 10), (10, 10), (7, 9), (42, 50), (84, 100), (1, 1000)]:
        expected = binomtest(right, rows).proportion_ci(method="wilson")
        assert wilson_interval(right, rows) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_worked_number():
    """42 of 50: the middle is (0.84 + 3.8415 / 100) / (1 + 3.8415 / 50), that is 0.8157."""
    low, high = accuracy_interval(np.zeros(50, int), np.arange(50) // 42, None)
    assert (low + high) / 2 == pytest.approx(0.8157, abs=5e-5)
    assert (round(low, 4), round(high, 4)) == (0.7149, 0.9166)


def test_how_often_wilson_covers():
    """The exact probability, over all numbers of right rows, which are whole: so it is not 95 % exactly."""
    for share, rows in itertools.product([0.6, 0.75, 0.84, 0.9, 0.95], [50, 100, 400]):
        inside = [low <= share <= high for low, high in (wilson_interval(right, rows) for right in range(rows + 1))]
        assert 0.93 < binom.pmf(np.arange(rows + 1), rows, share)[inside].sum() < 0.975


@cache
def every_draw() -> dict[str, np.ndarray]:
    """The scores of all draws of as many groups as there are, each as likely as any other, by a loop."""
    parts = [np.flatnonzero(group == GROUPS) for group in np.unique(GROUPS)]
    found: dict[str, list[float]] = {"accuracy": [], "macro_f1": []}
    for drawn in itertools.product(parts, repeat=len(parts)):
        rows = np.concatenate(drawn)
        found["accuracy"].append(accuracy_score(LABELS[rows], PREDICTED[rows]))
        found["macro_f1"].append(f1_score(LABELS[rows], PREDICTED[rows], average="macro", zero_division=0))
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.parametrize(("score", "interval"), [("accuracy", accuracy_interval), ("macro_f1", macro_f1_interval)])
def test_replicates_are_the_draws_of_groups(score, interval, monkeypatch):
    """4 groups have 256 draws. Every value must be as frequent as among them, within 5 standard deviations."""
    expected, count = np.unique(every_draw()[score].round(9), return_counts=True)
    seen = []
    monkeypatch.setattr(intervals, "percentiles", lambda values: seen.append(values))
    interval(LABELS, PREDICTED, GROUPS)
    values = seen[0].round(9)
    assert len(values) == intervals.REPLICATES and np.isin(values, expected).all()
    shares = count / count.sum()
    found = np.array([(values == value).mean() for value in expected])
    assert (np.abs(found - shares) < 5 * np.sqrt(shares * (1 - shares) / len(values))).all()


def test_the_bounds_are_percentiles_of_all_draws():
    draws = every_draw()
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
    of_class = [[rows == number for number in range(3)] for rows in (labels[drawn], predicted[drawn])]
    values = np.mean([2 * (a & b).sum(1) / (a.sum(1) + b.sum(1)) for a, b in zip(*of_class, strict=True)], 0)
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
    """Rows of a group are right or wrong together: 40 groups of 5 rows, 100 times."""
    monkeypatch.setattr(intervals, "REPLICATES", 1000)
    random, groups = np.random.default_rng(0), np.repeat(np.arange(40), 5)
    covered = np.zeros(2)
    for seed in range(100):
        wrong = np.repeat(random.random(40) < 0.25, 5).astype(int)
        for place, by in enumerate((groups, None)):
            low, high = accuracy_interval(np.zeros(200, int), wrong, by, seed)
            covered[place] += low <= 0.75 <= high
    assert covered[0] > 90 and covered[1] < 75


def rows(count: int, seed: int, sharper: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of three classes (N, 3), and labels that are drawn from them, if they are not made sharper."""
    generator = np.random.default_rng(seed)
    probabilities = generator.dirichlet(np.ones(3), count)
    labels = np.array([generator.choice(3, p=row) for row in probabilities])
    powers = probabilities**sharper
    return powers / powers.sum(1, keepdims=True), labels


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(20), 3)])
def test_they_are_those_of_a_slow_loop(groups):
    probabilities, labels = rows(60, seed=0, sharper=3.0)
    numbers = np.arange(60) if groups is None else groups
    generator, losses, errors = np.random.default_rng(7), [], []
    for _ in range(RESAMPLES):
        drawn = generator.integers(numbers.max() + 1, size=numbers.max() + 1)
        chosen = np.concatenate([np.flatnonzero(numbers == number) for number in drawn])
        losses.append(-np.log(probabilities[chosen, labels[chosen]]).mean())
        errors.append(ONE_LABEL.calibration_error(probabilities[chosen], labels[chosen]))
    low, high = np.quantile(errors, [0.025, 0.975])
    own = ONE_LABEL.calibration_error(probabilities, labels)
    found = ONE_LABEL.scored(probabilities, labels, None, groups, 7)
    assert found["log_loss"].interval == pytest.approx(np.quantile(losses, [0.025, 0.975]))
    assert found["calibration_error"].interval == pytest.approx([max(2 * own - high, 0), 2 * own - low])


@pytest.mark.whole
def test_they_cover_the_truth_about_as_often_as_they_say():
    """The truth is the score of very many rows; 95 % of 30 intervals are 28, and fewer than 24 would be no chance."""
    many = rows(50_000, seed=1, sharper=3.0)
    truth = {"log_loss": log_loss(many[1], many[0]), "calibration_error": ONE_LABEL.calibration_error(*many)}
    covered = dict.fromkeys(truth, 0)
    for seed in range(30):
        found = ONE_LABEL.scored(*rows(300, seed=100 + seed, sharper=3.0), None)
        for name, value in truth.items():
            low, high = found[name].interval
            covered[name] += low <= value <= high
    assert all(count >= 24 for count in covered.values()), covered.values()


def test_one_row_and_one_group_have_no_interval():
    probabilities, labels = rows(4, seed=2)
    for sample in ((probabilities[:1], labels[:1], None), (probabilities, labels, None, np.zeros(4, int))):
        found = ONE_LABEL.scored(*sample)
        assert found["log_loss"].interval is None and found["calibration_error"].interval is None


GENERATOR = np.random.default_rng(0)
SEVERAL = (GENERATOR.random((80, 4)) < [0.5, 0.3, 0.1, 0.02]).astype(int)
SEVERAL[:, 3] = 0  # a label without rows
PROBABILITIES = np.clip(0.6 * SEVERAL + GENERATOR.random((80, 4)) * 0.6, 0, 1).astype(np.float32)


@pytest.mark.parametrize("by_group", [False, True])
def test_intervals_are_those_of_a_bootstrap_by_loops(by_group):
    predicted = (PROBABILITIES >= 0.5).astype(int)
    groups = np.arange(80) // 4 if by_group else None
    found = f1_intervals(SEVERAL, predicted, groups, seed=3)
    draw, micro, macro = np.random.default_rng(9), [], []
    for _ in range(800):
        if by_group:
            rows = np.concatenate([np.flatnonzero(groups == each) for each in draw.integers(20, size=20)])
        else:
            rows = draw.integers(80, size=80)
        right = (SEVERAL[rows] & predicted[rows]).sum(0)
        both = SEVERAL[rows].sum(0) + predicted[rows].sum(0)
        micro.append(2 * right.sum() / both.sum())
        macro.append(np.mean([2 * r / b if b else 0 for r, b in zip(right, both, strict=True)]))
    assert found["micro_f1"] == pytest.approx(np.quantile(micro, [0.025, 0.975]), abs=0.025)
    assert found["macro_f1"] == pytest.approx(np.quantile(macro, [0.025, 0.975]), abs=0.025)


@pytest.mark.parametrize("by_group", [False, True])
def test_intervals_of_rows_are_those_of_a_bootstrap_by_loops(by_group):
    groups = np.arange(80) // 4 if by_group else None
    decided = PROBABILITIES >= 0.4
    found = SEVERAL_LABELS.scored(PROBABILITIES, SEVERAL, decided, groups, seed=3)
    draw, ranking, calibration = np.random.default_rng(3), [], []
    rankings = np.array([
        sk.label_ranking_average_precision_score(own, each)
        for own, each in zip(SEVERAL[:, None], PROBABILITIES[:, None], strict=True)
    ])  # fmt: skip
    for _ in range(1000):
        chosen = draw.integers(20 if by_group else 80, size=20 if by_group else 80)
        rows = np.concatenate([np.flatnonzero(groups == each) for each in chosen]) if by_group else chosen
        ranking.append(rankings[rows].mean())
        calibration.append(SEVERAL_LABELS.calibration_error(PROBABILITIES[rows], SEVERAL[rows]))
    assert found["ranking_precision"].interval == pytest.approx(np.quantile(ranking, [0.025, 0.975]))
    (low, high), own = (
        np.quantile(calibration, [0.025, 0.975]),
        SEVERAL_LABELS.calibration_error(PROBABILITIES, SEVERAL),
    )
    assert found["calibration_error"] == (own, pytest.approx([max(2 * own - high, 0), 2 * own - low]))
    assert found["macro_f1"].value == pytest.approx(sk.f1_score(SEVERAL, decided, average="macro"))
    right = int((decided == SEVERAL).all(1).sum())
    assert found["subset_accuracy"].value == right / 80
    if not by_group:
        wilson = binomtest(right, 80).proportion_ci(method="wilson")
        assert found["subset_accuracy"].interval == pytest.approx((wilson.low, wilson.high))


def test_without_variation_there_is_no_interval():
    assert f1_intervals(SEVERAL, SEVERAL, None) == {"micro_f1": None, "macro_f1": None}
    assert SEVERAL_LABELS.with_intervals(SEVERAL.astype(np.float32), SEVERAL, None, 0)["micro_f1_at_thresholds"] == 1
