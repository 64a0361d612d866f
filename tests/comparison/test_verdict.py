"""Verdicts by their intervals, against t-tests; how often an interval covers; Holm's correction in a loop."""

import numpy as np
import pytest
from scipy.stats import t, ttest_1samp

from salience.comparison.interval import paired_interval
from salience.comparison.variation import Difference
from salience.comparison.verdict import interval_of, judged, mean_and_level, verdict

RANDOM = np.random.default_rng(0)


def test_the_first_verdict_that_fits():
    for low, high, said in [
        (0.1, 0.4, "gain"),  # and not only no gain of a point
        (0.1, 3.0, "gain"),
        (-0.4, -0.1, "loss"),
        (-0.9, 0.9, "no gain of a point"),
        (-1.0, 1.0, "no gain of a point"),
        (-0.1, 1.1, "too few runs"),
        (-1.1, 0.1, "too few runs"),
        (None, None, "too few runs"),
    ]:
        mean = 0.0 if low is None else (low + high) / 2
        assert verdict(Difference(mean, low, high)) == said


def test_a_gain_or_a_loss_needs_holms_correction_too():
    assert verdict(Difference(1.0, 0.1, 1.9), adjusted_p=0.05) == "gain"
    assert verdict(Difference(1.0, 0.1, 1.9), adjusted_p=0.06) == "too few runs"
    assert verdict(Difference(-1.0, -1.9, -0.1), adjusted_p=0.06) == "too few runs"


def test_one_set_is_students():
    values = RANDOM.normal(0.4, 1, 7)
    (case,) = judged([[values]])
    assert (case.found.low, case.found.high) == pytest.approx(ttest_1samp(values, 0).confidence_interval(0.95))
    assert case.adjusted_p == pytest.approx(ttest_1samp(values, 0).pvalue)
    assert case.over_sets.low is None  # one set says nothing of others


def test_two_sets_are_welchs():
    """The mean of two sets is half the difference of the first and of the second with its signs turned.

    The degrees of freedom of Welch (1947), as Stata's `ttest, welch` has them:
    (a / m + b / n)^2 / ((a / m)^2 / (m + 1) + (b / n)^2 / (n + 1)) - 2.
    """
    one, other = RANDOM.normal(1, 1, 4), RANDOM.normal(0, 5, 9)
    (case,) = judged([[one, other]])
    a, b = one.var(ddof=1) / 4, other.var(ddof=1) / 9
    degrees = (a + b) ** 2 / (a**2 / 5 + b**2 / 10) - 2
    low, high = t.interval(0.95, degrees, one.mean() + other.mean(), np.sqrt(a + b))
    assert case.found.mean == pytest.approx((one.mean() + other.mean()) / 2)
    assert (case.found.low, case.found.high) == pytest.approx((low / 2, high / 2))
    assert case.adjusted_p == pytest.approx(2 * t.sf(abs(one.mean() + other.mean()) / np.sqrt(a + b), degrees))
    over_sets = paired_interval([one, other])
    assert (case.over_sets.low, case.over_sets.high) == (over_sets.low, over_sets.high)


def test_a_set_with_a_single_draw_has_no_interval():
    for values in ([[1.0, 2.0], [7.0]], [[7.0]], [[1.0, 1.0], [1.0, 1.0]]):
        (case,) = judged([values])
        assert case.found.low is None and case.adjusted_p == 1
        assert case.verdict == case.corrected == "too few runs"


@pytest.mark.parametrize("draws", [2, 3, 10])
def test_the_interval_covers_the_mean_of_these_sets(draws):
    """Sets of different means, and of the spreads that DropMix-G less Mixup has: of 1,000 intervals 95 % cover."""
    means, spreads = np.arange(8.0), np.array([[1.9], [3.7], [2], [3], [2.9], [2], [1.1], [2.7]])
    covered = 0
    for _ in range(1000):
        found = interval_of(*mean_and_level(list(means[:, None] + RANDOM.normal(0, spreads, (8, draws)))))
        covered += found.low <= means.mean() <= found.high
    assert 0.93 < covered / 1000 < 0.97


def test_a_family_is_corrected_by_holm():
    """p-values from the smallest on, times those that are left, until one is above 0.05; then no more is rejected."""
    noise = np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    family = [[gain + noise] for gain in (0.1, -1.0, 3.0, 0.95)]
    cases, p = judged(family), np.array([ttest_1samp(values, 0).pvalue for (values,) in family])
    rejected, left = set(), 4
    for place in np.argsort(p):
        if p[place] * left > 0.05:
            break
        rejected.add(place)
        left -= 1
    assert {place for place, case in enumerate(cases) if case.corrected in ("gain", "loss")} == rejected
    assert [case.corrected for case in cases][1:3] == ["too few runs", "gain"]
    alone = {place for place, case in enumerate(cases) if case.verdict in ("gain", "loss")}
    assert alone == {*np.flatnonzero(p <= 0.05)} > rejected


def test_no_gain_of_a_point_holds_for_the_whole_family():
    """Half widths of 0.95 by itself, and of more in a family of two; a claim without an interval is not counted."""
    values = np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    values *= 0.95 / (ttest_1samp(values, 0).confidence_interval(0.95).high)
    assert judged([[values], [[3.0]]])[0].corrected == "no gain of a point"
    (first, second) = judged([[values], [-values]])
    assert first.verdict == second.verdict == "no gain of a point"
    assert first.corrected == second.corrected == "too few runs"
