"""The strategies that are only in the bench: against slow loops from the formulas, and what must hold of all."""

import numpy as np
import pytest
import torch

import reference_suggestions
from not_offered import NOT_OFFERED, LabelledPool
from not_offered.badge import badge
from not_offered.clusters import clusters
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


@pytest.mark.parametrize("seed", range(5))
def test_badge_is_k_means_plus_plus_on_gradients(seed):
    pool = random_pool(seed)
    numbers = np.random.default_rng(seed).random(14)
    expected = reference_suggestions.badge(pool.probabilities.tolist(), pool.vectors, 15, numbers)
    assert badge(pool, 15, np.random.default_rng(seed)).tolist() == expected


def test_the_gradients_are_those_of_torch():
    """What the loop of BADGE takes for the gradient is that of the loss in the weights of a linear map."""
    map_ = torch.nn.Linear(7, 5, bias=False, dtype=torch.float64)
    vectors = torch.randn(3, 7, dtype=torch.float64)
    for vector in vectors:
        logits = map_(vector)
        map_.zero_grad()
        torch.nn.functional.cross_entropy(logits[None], logits.argmax()[None]).backward()
        (found,) = reference_suggestions.gradients([logits.softmax(0).tolist()], [vector.numpy()])
        assert np.allclose(found, map_.weight.grad.numpy().ravel())


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


def test_equal_texts_are_not_chosen_together_by_rules_on_vectors():
    """Each of 10 texts stands there twice."""
    half = random_pool(0, texts=10)
    pool = Pool(np.concatenate([half.probabilities] * 2), np.concatenate([half.vectors] * 2))
    for rule in (badge, clusters):
        assert len({place % 10 for place in rule(pool, 10, np.random.default_rng(0)).tolist()}) == 10
