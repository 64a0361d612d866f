"""Differences as intervals: against Student's t written out, and where it has nothing to divide by."""

import numpy as np
import pytest
from scipy.stats import t

from salience.comparison.variation import difference, spread


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
