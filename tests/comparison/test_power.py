"""The power of a number of draws against G*Power's sample sizes and against simulations; spreads pooled by hand."""

import math

import numpy as np
import pytest

from salience.comparison.power import chance_of_gain, chance_of_no_gain, draws_needed, pooled_spread
from salience.comparison.verdict import interval_of, mean_and_level, verdict


def test_draws_of_one_set_are_gpowers():
    """Sample sizes of the paired t-test, two-sided at 0.05 with a power of 0.8, for effects of 0.2, 0.5 and 0.8."""
    assert [draws_needed(effect, 1.0, 1) for effect in (0.2, 0.5, 0.8)] == [199, 34, 15]
    assert draws_needed(1.5, 3.0, 1) == 34  # the effect is the gain in spreads


def simulated(gain: float, spread: float, sets: int, draws: int, said: str) -> float:
    """How often sets with means of their own, whose mean is the gain, are judged so."""
    random = np.random.default_rng(1)
    means = gain + (np.arange(sets) - (sets - 1) / 2)[:, None]
    found = [
        verdict(interval_of(*mean_and_level(list(means + random.normal(0, spread, (sets, draws))))))
        for _ in range(1000)
    ]
    return found.count(said) / len(found)


@pytest.mark.parametrize("sets, draws", [(1, 12), (6, 4)])
def test_chances_are_those_of_a_simulation(sets, draws):
    assert chance_of_gain(1.2, 2.0, sets, draws) == pytest.approx(simulated(1.2, 2.0, sets, draws, "gain"), abs=0.04)
    spread = 0.28 * math.sqrt(sets * draws)
    expected = simulated(0.0, spread, sets, draws, "no gain of a point")
    assert 0.5 < expected < 0.95
    assert chance_of_no_gain(spread, sets, draws) == pytest.approx(expected, abs=0.05)


def test_the_least_number_of_draws():
    for gain, spread, sets in [(1.0, 2.0, 6), (0.3, 1.0, 3), (None, 2.0, 6), (None, 0.1, 2)]:
        draws = draws_needed(gain, spread, sets)
        chances = [
            chance_of_no_gain(spread, sets, each) if gain is None else chance_of_gain(gain, spread, sets, each)
            for each in range(2, draws + 1)
        ]
        assert chances[-1] >= 0.8 and all(chance < 0.8 for chance in chances[:-1])


def test_no_gain_takes_more_draws_than_a_gain_of_as_much():
    assert draws_needed(None, 2.5, 8) > draws_needed(1.0, 2.5, 8)
    assert draws_needed(0.0, 2.5, 8) == draws_needed(-0.1, 2.5, 8) == draws_needed(1e-6, 2.5, 8) == math.inf


def test_a_spread_is_pooled_over_sets():
    values = [np.array([1.0, 3.0]), np.array([10.0, 10.0, 16.0]), np.array([99.0])]
    assert pooled_spread(values) == (pytest.approx(math.sqrt((2 + 24) / 3)), 3)
    assert pooled_spread(values[2:])[1] == 0 and math.isnan(pooled_spread(values[2:])[0])
