"""The hierarchical bootstrap: against all resamples of small sets, and against a loop that resamples by index."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import ks_2samp

from interval_coverage import replicates, weights

SMALL = [np.array([[1.0, 0.0], [3.0, -2.0]]), np.array([[5.0, 1.0], [0.0, 0.5]])]


def all_resamples(values: np.ndarray) -> np.ndarray:
    """The means of all D^D N^N resamples of draws and rows, all equally likely."""
    draws, rows = (list(product(range(size), repeat=size)) for size in values.shape)
    return np.array([values[np.ix_(some, others)].mean() for some in draws for others in rows])


def slow_replicates(differences: list[np.ndarray], over_sets: bool, count: int) -> np.ndarray:
    """By the definition: sets, then draws and rows of each, by index."""
    generator = np.random.default_rng(1)
    found = []
    for _ in range(count):
        chosen = generator.integers(len(differences), size=len(differences)) if over_sets else range(len(differences))
        means = []
        for number in chosen:
            values = differences[number]
            index = [generator.integers(size, size=size) for size in values.shape]
            means.append(values[np.ix_(*index)].mean())
        found.append(np.mean(means))
    return np.array(found)


def bootstrap_variance(differences: list[np.ndarray], over_sets: bool = True) -> float:
    """The variance of infinitely many replicates, exactly, for the mean is linear in the weights of draws and of rows.

    Owen (2007), "The pigeonhole bootstrap", Annals of Applied Statistics 1(2), doi 10.1214/07-AOAS122.
    """
    within = []
    for values in differences:
        by_draw, by_row = values.mean(1, keepdims=True), values.mean(0, keepdims=True)
        rest = values - by_draw - by_row + values.mean()
        within.append(by_draw.var() / by_draw.size + by_row.var() / by_row.size + rest.var() / rest.size)
    between = np.var([values.mean() for values in differences]) if over_sets else 0.0
    return float((between + np.mean(within)) / len(differences))


def test_the_variance_is_that_of_all_resamples():
    sets = [all_resamples(values) for values in SMALL]
    assert bootstrap_variance(SMALL, over_sets=False) == pytest.approx(sum(each.var() for each in sets) / 4)
    either = np.concatenate(sets)  # each set is as likely as the other, and has as many resamples
    assert bootstrap_variance(SMALL) == pytest.approx(either.var() / 2)
    assert bootstrap_variance(SMALL[:1]) == pytest.approx(sets[0].var())


@pytest.mark.parametrize("over_sets", [True, False])
def test_replicates_are_those_of_the_slow_loop(over_sets):
    generator = np.random.default_rng(0)
    differences = [
        generator.normal(0, 2, (draws, 1)) + generator.normal(0, 3, rows) + generator.normal(size=(draws, rows))
        for draws, rows in ((3, 5), (4, 8), (2, 6))
    ]
    fast = replicates(differences, over_sets, count=20_000)
    slow = slow_replicates(differences, over_sets, count=4_000)
    assert ks_2samp(fast, slow).pvalue > 0.001
    exact = bootstrap_variance(differences, over_sets)
    assert fast.var() == pytest.approx(exact, rel=0.05) and slow.var() == pytest.approx(exact, rel=0.1)


def test_replicates_repeat_with_their_seed_and_take_one_number_a_draw():
    scores = [np.array([1.0, 4.0])]
    found = replicates(scores, count=1000, seed=3)
    assert (found == replicates(scores, count=1000, seed=3)).all()
    assert np.unique(found).tolist() == [1, 2.5, 4]
    assert np.mean(found == 2.5) == pytest.approx(0.5, abs=0.06)


def test_weights_count_what_was_drawn():
    found = weights(3, 2000, np.random.default_rng(0))
    assert found.sum(1) == pytest.approx(np.ones(2000)) and set(np.round(3 * found).ravel()) == {0, 1, 2, 3}
    assert np.mean(found == 1) == pytest.approx(1 / 27, abs=0.012)
