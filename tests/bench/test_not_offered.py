"""The strategies that are only in the bench: against slow loops from the formulas, and what must hold of all."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans

import reference_suggestions
from not_offered import NOT_OFFERED
from not_offered.badge import badge
from not_offered.clusters import clusters
from not_offered.density import density
from not_offered.k_center import k_center
from not_offered.typiclust import NEIGHBOURS, typiclust
from not_offered.uncertain_clusters import FACTOR, nearest_to_centers, uncertain_clusters
from not_offered.uncertainty import entropy, least_confidence
from salience.suggestions import Pool
from salience.suggestions.strategies import margins


def random_pool(seed, texts=60, labelled=4) -> Pool:
    random = np.random.default_rng(seed)
    probabilities = random.dirichlet(np.full(5, 0.5), texts)
    return Pool(probabilities, random.normal(size=(texts, 7)), random.normal(size=(labelled, 7)))


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


def blobs(sizes, seed=0) -> np.ndarray:
    """Groups of vectors, far from each other."""
    random = np.random.default_rng(seed)
    return np.concatenate([random.normal(100 * np.eye(len(sizes))[n], 1, (size, len(sizes))) for n, size in
                           enumerate(sizes)])  # fmt: skip


def test_the_text_nearest_to_each_mean_comes_that_of_the_largest_group_first():
    sizes = [5, 9, 7]
    vectors = blobs(sizes)
    starts = np.cumsum([0, *sizes[:-1]])
    nearest = [
        start + int(np.linalg.norm(own - own.mean(0), axis=1).argmin())
        for start, own in zip(starts, np.split(vectors, starts[1:]), strict=True)
    ]
    assert nearest_to_centers(vectors, None, 3, np.random.default_rng(0)).tolist() == [
        nearest[1],
        nearest[2],
        nearest[0],
    ]


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_uncertain_clusters_are_those_of_weighted_k_means_on_the_uncertain_texts(seed, several):
    pool, count = replace(random_pool(seed, texts=100), several=several), 4
    uncertainty = 1 - margins(pool.probabilities)
    if several:
        uncertainty = np.array([
            np.mean([reference_suggestions.entropy_of([yes, 1 - yes]) / np.log(2) for yes in row])
            for row in pool.probabilities
        ])  # fmt: skip
    kept = sorted(range(100), key=lambda place: -uncertainty[place])[: FACTOR * count]
    state = int(np.random.default_rng(seed).integers(2**31))
    means = KMeans(count, n_init=1, random_state=state).fit(pool.vectors[kept], sample_weight=uncertainty[kept])
    expected = set()
    for number, center in enumerate(means.cluster_centers_):
        own = [place for place, cluster in zip(kept, means.labels_, strict=True) if cluster == number]
        expected.add(min(own, key=lambda place: np.linalg.norm(pool.vectors[place] - center)))
    chosen = uncertain_clusters(pool, count, np.random.default_rng(seed))
    assert set(chosen.tolist()) == expected and set(chosen.tolist()) <= set(kept)


def test_typiclust_takes_the_most_typical_text_of_each_cluster_without_a_labelled_one():
    """Groups of 9, 7 and 5 texts, the largest with a labelled one; means over 20 nearest texts at most."""
    vectors = blobs([9, 7, 5])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def most_typical(places):
        def mean_distance(place):
            others = sorted(np.linalg.norm(unit[place] - unit[other]) for other in places if other != place)
            return np.mean(others[:NEIGHBOURS])

        return min(places, key=mean_distance)

    chosen = typiclust(Pool(vectors=vectors, labelled=vectors[:1]), 2, np.random.default_rng(0))
    assert chosen.tolist() == [most_typical(range(9, 16)), most_typical(range(16, 21))]


POOLS = {
    "usual": random_pool(1), "few texts": random_pool(2, texts=3), "no text": random_pool(3, texts=0),
    "one class": Pool(np.ones((20, 1)), random_pool(4, texts=20).vectors, np.zeros((1, 7))),
    "equal vectors": Pool(random_pool(5, texts=20).probabilities, np.ones((20, 7)), np.ones((2, 7))),
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
