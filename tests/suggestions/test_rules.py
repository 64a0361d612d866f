"""The strategies against slow loops from the formulas, on worked numbers, and what must hold of all of them."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.cluster import KMeans

import reference_suggestions
from salience.suggestions import STRATEGIES, Pool
from salience.suggestions.strategies import (
    FACTOR,
    label_entropies,
    margin,
    margins,
    nearest_to_centers,
    uncertain_clusters,
)


def random_pool(seed, texts=60, classes=5, width=7) -> Pool:
    random = np.random.default_rng(seed)
    probabilities = random.dirichlet(np.full(classes, 0.5), texts)
    return Pool(probabilities, random.normal(size=(texts, width)))


def test_the_two_closest_labels_are_first():
    """Margins of 0.03, 0.01, 0.28. The first row is the least confident one, the last that of the highest entropy."""
    pool = Pool(np.array([[0.43, 0.4, 0.17, 0.0], [0.48, 0.47, 0.05, 0.0], [0.46, 0.18, 0.18, 0.18]]))
    assert margins(pool.probabilities) == pytest.approx([0.03, 0.01, 0.28])
    assert margin(pool, 3).tolist() == [1, 0, 2]


@pytest.mark.parametrize("seed", range(5))
def test_margin_is_that_of_the_loop(seed):
    pool = random_pool(seed)
    assert margin(pool, 15).tolist() == reference_suggestions.margin(pool.probabilities.tolist(), 15)


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


def test_the_entropies_of_the_decisions_about_labels():
    """A bit for a half, none for a certain decision, and 2 - 3/4 log2(3) for a quarter; also against scipy."""
    probabilities = np.array([[0.5, 0.0, 1.0, 1.0], [0.25, 0.75, 0.25, 0.75], [0.0, 0.0, 1.0, 0.0]])
    assert label_entropies(probabilities).mean(1) == pytest.approx([0.25, 2 - 0.75 * np.log2(3), 0])
    several = np.random.default_rng(0).random((30, 5)).astype(np.float32)
    expected = binom(1, several.astype(float)).entropy() / np.log(2)
    assert label_entropies(several) == pytest.approx(expected)


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


POOLS = {
    "usual": random_pool(1),
    "few texts": random_pool(2, texts=3),
    "one text": random_pool(3, texts=1),
    "no text": random_pool(4, texts=0),
    "one class": Pool(np.ones((20, 1)), random_pool(5, texts=20).vectors),
    "certain": Pool(np.eye(3)[np.arange(20) % 3], random_pool(6, texts=20).vectors),
    "equal vectors": Pool(random_pool(7, texts=20).probabilities, np.ones((20, 7))),
    "two vectors": Pool(random_pool(8, texts=20).probabilities, np.eye(7)[np.arange(20) % 2]),
    "vectors of 0": Pool(random_pool(9, texts=20).probabilities, np.zeros((20, 7))),
    "single precision": Pool(
        random_pool(10).probabilities.astype(np.float32), random_pool(10).vectors.astype(np.float32)
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_holds_of_every_strategy(strategy, name):
    """As many different places as are wanted or there; the same ones with the same seed; nothing given is changed."""
    pool, rule = POOLS[name], STRATEGIES[strategy].choose
    before = pool.probabilities.copy(), None if pool.vectors is None else pool.vectors.copy()
    chosen = rule(pool, 10, np.random.default_rng(0))
    assert len(chosen) == min(10, len(pool)) == len(set(chosen.tolist()))
    assert chosen.dtype.kind == "i" and set(chosen.tolist()) <= set(range(len(pool)))
    assert rule(pool, 10, np.random.default_rng(0)).tolist() == chosen.tolist()
    assert np.array_equal(pool.probabilities, before[0]) and np.array_equal(pool.vectors, before[1])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_memory_is_linear_in_the_texts(strategy):
    """20,000 texts: a table of all pairs would take 1.6 GB in single precision."""
    pool = random_pool(0, texts=20_000)
    tracemalloc.start()
    STRATEGIES[strategy].choose(pool, 5, np.random.default_rng(0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6
