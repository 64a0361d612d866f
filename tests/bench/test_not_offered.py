"""The strategies that are only in the bench: against slow loops from the formulas, and what must hold of all."""

import numpy as np
import pytest

import reference_suggestions
from not_offered import NOT_OFFERED, LabelledPool
from not_offered.density import density
from not_offered.k_center import k_center
from not_offered.uncertainty import entropy, least_confidence
from salience.suggestions import Pool


def random_pool(seed, texts=60, labelled=4) -> LabelledPool:
    random = np.random.default_rng(seed)
    probabilities = random.dirichlet(np.full(5, 0.5), texts)
    return LabelledPool(probabilities, random.normal(size=(texts, 7)), random.normal(size=(labelled, 7)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rule", [least_confidence, entropy])
def test_uncertainties_are_those_of_the_loops(rule, seed):
    pool = random_pool(seed)
    assert rule(pool, 15).tolist() == getattr(reference_suggestions, rule.__name__)(pool.probabilities.tolist(), 15)


@pytest.mark.parametrize("seed", range(5))
def test_density_is_that_of_the_loop(seed):
    pool = random_pool(seed)
    pool = Pool(pool.probabilities, pool.vectors + 0.5)
    assert density(pool, 15).tolist() == reference_suggestions.density(pool.probabilities.tolist(), pool.vectors, 15)


@pytest.mark.parametrize("seed", range(5))
def test_k_center_is_that_of_the_loop(seed):
    pool = random_pool(seed)
    assert k_center(pool, 15).tolist() == reference_suggestions.k_center(pool.vectors, pool.labelled, 15)


def test_k_center_without_labelled_texts_begins_at_the_mean():
    pool = random_pool(0, labelled=0)
    first = int(np.linalg.norm(pool.vectors - pool.vectors.mean(0), axis=1).argmin())
    expected = [first, *reference_suggestions.k_center(pool.vectors, [pool.vectors[first]], 9)]
    assert k_center(pool, 10).tolist() == expected


POOLS = {
    "usual": random_pool(1), "few texts": random_pool(2, texts=3), "no text": random_pool(3, texts=0),
    "one class": LabelledPool(np.ones((20, 1)), random_pool(4, texts=20).vectors, np.zeros((1, 7))),
    "equal vectors": LabelledPool(random_pool(5, texts=20).probabilities, np.ones((20, 7)), np.ones((2, 7))),
    "vectors of 0": Pool(np.eye(3)[np.arange(20) % 3], np.zeros((20, 7))),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("rule", NOT_OFFERED)
def test_as_many_different_places_as_are_wanted_or_there(rule, name):
    pool = POOLS[name]
    chosen = NOT_OFFERED[rule](pool, 10, np.random.default_rng(0))
    assert len(chosen) == min(10, len(pool)) == len(set(chosen.tolist())) and chosen.dtype.kind == "i"
