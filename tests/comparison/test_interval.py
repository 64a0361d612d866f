"""Intervals against Darwin's maize, scipy's t-tests and the formula by hand; draws needed against trying them all."""

import math

import numpy as np
import pytest
from scipy.stats import t, ttest_1samp

from salience.comparison.interval import paired_interval, satterthwaite
from salience.comparison.paired_difference import draws_needed

# Heights of cross-fertilised less self-fertilised maize, in eighths of an inch: Darwin (1876), in R. A. Fisher (1935),
# The Design of Experiments, chapter III, which gives t = 2.148 with 14 degrees of freedom.
DARWIN = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48.0])


def crossed(seed: int, draws: int, rows: int, by_draws: float = 1.0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    rest = generator.normal(size=(draws, rows))
    return 0.3 + generator.normal(0, by_draws, (draws, 1)) + generator.normal(0, 4, rows) + rest


def half(interval) -> float:
    assert interval.mean - interval.low == pytest.approx(interval.high - interval.mean)
    return interval.high - interval.mean


def test_darwins_maize():
    """Fisher's t and the tabled quantile 2.145 give the half width 20.93 / 2.148 * 2.145 = 20.90."""
    found = paired_interval([DARWIN])
    assert found.mean == pytest.approx(314 / 15)
    assert half(found) == pytest.approx(found.mean / 2.148 * 2.145, rel=5e-4)
    assert found.beyond_chance


def test_one_level_is_students():
    low, high = ttest_1samp(DARWIN, 0).confidence_interval(0.95)
    found = paired_interval([np.outer(DARWIN, [1.0, 1.0, 1.0])])  # rows that are all alike
    assert (found.low, found.high) == pytest.approx((low, high))


def test_draws_and_rows_have_a_quantile_each():
    values = crossed(0, 4, 50)
    draws, rows = values.mean(1).var(ddof=1) / 4, values.mean(0).var(ddof=1) / 50
    centred = values - values.mean(1)[:, None] - values.mean(0) + values.mean()
    rest = (centred**2).sum() / (3 * 49) / 200
    both = t.ppf(0.975, 3) ** 2 * draws + t.ppf(0.975, 49) ** 2 * (rows - rest)
    assert half(paired_interval([values])) == pytest.approx(both**0.5)
    assert half(paired_interval([values], over_rows=False)) == pytest.approx(t.ppf(0.975, 3) * draws**0.5)


def test_many_draws_and_rows_are_the_normal_interval():
    """1,000 draws and 1,000 rows with variances 1, 16 and 1."""
    expected = 1.96 * (1 / 1000 + 16 / 1000 + 1 / 1e6) ** 0.5
    assert half(paired_interval([crossed(0, 1000, 1000)])) == pytest.approx(expected, rel=0.05)


def test_on_other_data_sets():
    sets = [crossed(seed, 5, 40) + 20 * seed for seed in range(3)]
    low, high = ttest_1samp([each.mean() for each in sets], 0).confidence_interval(0.95)
    found = paired_interval(sets)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert half(paired_interval(sets, over_sets=False)) < half(found) / 10
    single = paired_interval([each[:1] for each in sets])
    assert half(single) > 0 and paired_interval([each[:1] for each in sets], over_sets=False).low is None


def test_other_data_sets_are_never_surer_than_these():
    """Two sets with the same mean by accident."""
    one = crossed(0, 5, 40)
    other = crossed(1, 5, 40)
    sets = [one, other - other.mean() + one.mean() + 1e-3]
    assert half(paired_interval(sets)) == half(paired_interval(sets, over_sets=False)) > 0.1


def test_a_set_with_a_single_draw_does_not_make_surer():
    """Draws that vary much, of sets whose means are nearly alike by accident."""
    known = [np.array([3.0, -1.0]), np.array([2.5, -0.3])]  # variances of the means: 4 and 1.96
    variance = (4 + 1.96) / 2 / 3  # of the mean over three sets, were the third one as the mean of the others
    degrees = (4 + 1.96) ** 2 / (4**2 + 1.96**2)
    found = paired_interval([*known, np.array([1.05])])
    assert half(found) == pytest.approx(t.ppf(0.975, degrees) * variance**0.5)
    assert half(found) > half(paired_interval([np.array([each.mean()]) for each in (*known, np.array([1.05]))]))
    assert half(paired_interval(known)) == pytest.approx(t.ppf(0.975, degrees) * ((4 + 1.96) / 4) ** 0.5)


def test_every_set_weighs_the_same():
    found = paired_interval([[1.0, 2.0, 3.0], np.zeros((10, 7)) + np.arange(10)[:, None]])
    assert found.mean == pytest.approx((2 + 4.5) / 2)


def test_satterthwaite_by_welch():
    """Welch's degrees of freedom of a difference of two means; equal variances have the sum of both."""
    found = satterthwaite([3.0, 1.0], [4, 9])
    assert found.variance == 1.0 and found.degrees == pytest.approx(4**2 / (9 / 4 + 1 / 9))
    assert satterthwaite([2.0, 2.0], [5, 5]).degrees == pytest.approx(10)


def test_simultaneous_intervals_are_wider():
    assert half(paired_interval([DARWIN], comparisons=5)) == pytest.approx(
        t.ppf(1 - 0.025 / 5, 14) * DARWIN.std(ddof=1) / 15**0.5
    )


@pytest.mark.parametrize("values", [[1.0], [0.1 + 0.2, 0.3], np.zeros((3, 5)), np.ones((1, 4))])
def test_nothing_is_known_of_the_draws(values):
    found = paired_interval([values])
    assert found.low is found.high is None and not found.beyond_chance
    assert draws_needed([values]) is None


@pytest.mark.parametrize("over_rows", [True, False])
def test_draws_needed_are_the_fewest(over_rows):
    """One set with variances known: the loop computes the interval for 2, 3, 4, ... draws."""
    values = crossed(0, 6, 400, by_draws=1.5)
    draws, rows = values.mean(1).var(ddof=1), values.mean(0).var(ddof=1) / 400
    centred = values - values.mean(1)[:, None] - values.mean(0) + values.mean()
    rows = (rows - (centred**2).sum() / (5 * 399) / 2400) * over_rows

    def width(number: int) -> float:
        return (t.ppf(0.975, number - 1) ** 2 * draws / number + t.ppf(0.975, 399) ** 2 * rows) ** 0.5

    for target in (6.0, 1.0, 0.5):
        found = draws_needed([values], target, over_rows)
        assert found.draws == next(number for number in range(2, 1000) if width(number) <= target)
        assert str(found) == str(int(found.draws)) and found.by_rows == pytest.approx(t.ppf(0.975, 399) * rows**0.5)


def test_rows_alone_can_be_too_wide():
    found = draws_needed([crossed(0, 6, 400)], half_width=0.3)
    assert math.isinf(found.draws) and found.by_rows == pytest.approx(1.966 * 4 / 20, rel=0.1)
    assert str(found) == f"no number of seeds: the test rows alone give ±{found.by_rows:.2f}"
    assert draws_needed([crossed(0, 6, 400)], half_width=0.3, over_rows=False).draws < 100


def test_more_sets_need_fewer_draws_each():
    sets = [crossed(seed, 6, 400, by_draws=1.5) for seed in range(4)]
    assert draws_needed(sets).draws < min(draws_needed([each], over_rows=False).draws for each in sets)
