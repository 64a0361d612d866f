"""Intervals against Student's t written out; sums of squares against loops, and their variances against simulation."""

import numpy as np
import pytest
from scipy.stats import t

from salience.comparison.variation import difference, paired, spread, variation
from salience.errors import InputError


def test_a_worked_table():
    """Means of draws 1 and 4, of rows 1.5, 2.5 and 3.5; the rest is 0 but for one interaction of 1/2."""
    found = variation([[0.5, 1.0, 1.5], [2.5, 4.0, 5.5]])
    assert (found.mean, found.draws, found.rows) == (2.5, 2, 3)
    assert (found.of_draws, found.of_rows, found.of_rest) == pytest.approx((4.5, 2.0, 1.0))
    # mean squares over the cells: draws 13.5 / 6, rows 4 / 2 / 6 and rest 1 / 2 / 6
    assert found.by_draws == pytest.approx(13.5 / 6) and found.by_rows == pytest.approx(2 / 6 - 0.5 / 6)


def test_one_number_a_draw():
    found = variation([1.0, 2.0, 6.0])
    assert found.by_draws == pytest.approx(np.var([1, 2, 6], ddof=1) / 3) and found.by_rows == 0
    assert np.isnan(variation([1.0]).by_draws)


def test_equal_means_of_draws_still_vary_by_the_rest():
    """Both draws are right once more than the baseline, on different rows."""
    found = variation([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    rest = found.of_rest / (3 * 8)
    assert found.of_draws == 0 and found.by_draws == pytest.approx(rest) and rest > 0


def test_the_variances_have_no_bias():
    """The mean of 4 draws and 6 rows with variances 2, 3 and 5 has the variance 2 / 4 + 3 / 6 + 5 / 24."""
    generator = np.random.default_rng(0)
    found = []
    for _ in range(4000):
        draws, rows = generator.normal(0, 2**0.5, (4, 1)), generator.normal(0, 3**0.5, 6)
        each = variation(draws + rows + generator.normal(0, 5**0.5, (4, 6)))
        found.append((each.mean**2, each.by_draws + each.by_rows))
    squares, estimates = np.mean(found, axis=0)
    true = 2 / 4 + 3 / 6 + 5 / 24
    assert squares == pytest.approx(true, rel=0.09)  # 4 standard errors, sqrt(2 / 4000) each
    assert true < estimates < 1.05 * true  # neither part may be negative, which adds a little


def test_pairs():
    scores = [np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([3.0, 5.0])]
    others = [np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([2.0, 7.0])]
    assert [each.tolist() for each in paired(scores, others)] == [[[1, 0], [0, 1]], [1, -2]]


@pytest.mark.parametrize(
    ("method", "baseline", "message"),
    [
        ([], [], "run both on the same data sets"),
        ([[1.0]], [[1.0], [2.0]], "of 1 data sets and the baseline of 2: run both on the same"),
        ([[1.0], [1.0, 2.0]], [[1.0], [1.0]], r"data set 2: .* \(2,\) and the baseline's \(1,\): run both on"),
        ([[np.nan, 1.0]], [[1.0, 2.0]], "data set 1: a score is not a finite number"),
    ],
)
def test_what_does_not_pair(method, baseline, message):
    with pytest.raises(InputError, match=message):
        paired(method, baseline)


@pytest.mark.parametrize("comparisons", [1, 3])
def test_the_interval_is_students_and_pairs_runs(comparisons):
    values, others = np.array([91.0, 84.5, 78.0, 80.0]), np.array([90.0, 83.0, 77.5, 78.5])
    apart = values - others
    half = t.ppf(1 - 0.025 / comparisons, 3) * apart.std(ddof=1) / 4**0.5
    found = difference(values, others, comparisons)
    assert (found.mean, found.low, found.high) == pytest.approx((1.125, 1.125 - half, 1.125 + half))
    assert found.beyond_chance == (half < 1.125)
    assert not difference(values, others[[1, 2, 3, 0]]).beyond_chance  # the same means, other pairs


def test_a_worked_interval():
    """Of -1, 0 and 1 the standard error is 1 / sqrt(3), and t's quantile 4.303."""
    found = difference([1.0, 2.0, 3.0], [2.0, 2.0, 2.0])
    assert str(found) == "+0.00 [-2.48, +2.48]"


def test_the_same_difference_at_every_seed_has_no_interval():
    """No width would be perfect knowledge; it is few texts, or the same model twice."""
    found = difference([91.0, 81.0, 71.0], [90.0, 80.0, 70.0])
    assert str(found) == "+1.00" and not found.beyond_chance
    assert not difference([90.0, 80.0], [90.0, 80.0]).beyond_chance


def test_one_run_has_no_interval():
    found = difference([91.0], [90.0])
    assert str(found) == "+1.00" and not found.beyond_chance


def test_spread():
    assert spread([1.0, 2.0, 3.0]) == "2.00 ± 1.00"
    assert spread([1.5]) == "1.50"
