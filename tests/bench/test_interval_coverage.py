"""Intervals and p-values of two equal methods: how often they are wrong, within the error of the simulation."""

import numpy as np
import pytest
from scipy.stats import binom

from interval_coverage import candidates, null_differences
from salience.comparison.interval import paired_interval
from salience.comparison.significance import sign_flip_p

SIMULATIONS = 500
LEAST = binom.ppf(0.001, SIMULATIONS, 0.95) / SIMULATIONS  # an honest interval covers less once in 1,000 seeds
MOST = binom.ppf(0.999, SIMULATIONS, 0.05) / SIMULATIONS


def simulated(sets: int, draws: int, sets_sd: float = 0.0):
    generator = np.random.default_rng(100 * sets + draws)
    for _ in range(SIMULATIONS):
        yield null_differences(generator, sets, draws, rows=300, draws_sd=1.5, sets_sd=sets_sd)


@pytest.mark.parametrize("sets", [1, 4])
@pytest.mark.parametrize("draws", [3, 5, 10])
def test_these_data_sets(sets, draws):
    covered, rejected = [], []
    for differences in simulated(sets, draws):
        covered.append(not paired_interval(differences, over_sets=False).beyond_chance)
        rejected.append(sign_flip_p(differences, over_sets=False, count=199) <= 0.05)
    assert np.mean(covered) >= LEAST and np.mean(rejected) <= MOST
    if draws == 10:  # nor are they wider than they need to be
        assert np.mean(covered) < 0.985


@pytest.mark.parametrize("sets", [3, 8])
def test_other_data_sets(sets):
    found = [
        (not paired_interval(differences).beyond_chance, sign_flip_p(differences) <= 0.05)
        for differences in simulated(sets, 3, sets_sd=2.0)
    ]
    covered, rejected = np.mean(found, axis=0)
    assert covered >= LEAST and rejected <= MOST


def test_draws_that_vary_much_more_than_rows():
    """One number a draw: Student's t covers as often as it says, and percentiles of the bootstrap do not."""
    generator = np.random.default_rng(0)
    found = {"ours": 0, "percentile": 0}
    for seed in range(SIMULATIONS):
        bounds = candidates([generator.normal(0, 1.5, (5, 1)) + np.zeros(2)], False, 300, seed)
        for name in found:
            found[name] += bounds[name][0] <= 0 <= bounds[name][1]
    assert found["ours"] / SIMULATIONS >= LEAST > found["percentile"] / SIMULATIONS


def test_equal_methods_are_right_on_nine_rows_in_ten_and_differ_as_they_should():
    """The difference of two runs' accuracies has a standard deviation of 1.5 points over draws, and 2 over sets."""
    generator = np.random.default_rng(0)
    means = [np.mean(each) for each in null_differences(generator, 400, 1, 5000, 1.5, 2.0)]
    by_rows = 100 * (0.09 / 5000) ** 0.5  # less than 9 % of rows differ
    assert 6.25**0.5 * 0.85 < np.std(means) < (6.25 + by_rows**2) ** 0.5 * 1.2 and abs(np.mean(means)) < 0.5
