"""The strategies against slow loops from the formulas, on worked numbers, and what must hold of all of them."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import reference_suggestions
from families import crossed
from salience.suggestions import STRATEGIES, Pool, strategies
from salience.suggestions.strategies import (
    balanced_facilities,
    label_entropies,
    margin,
    margins,
    uncertain_facilities,
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


def test_the_entropies_of_the_decisions_about_labels():
    """A bit for a half, none for a certain decision, and 2 - 3/4 log2(3) for a quarter; also against scipy."""
    probabilities = np.array([[0.5, 0.0, 1.0, 1.0], [0.25, 0.75, 0.25, 0.75], [0.0, 0.0, 1.0, 0.0]])
    assert label_entropies(probabilities).mean(1) == pytest.approx([0.25, 2 - 0.75 * np.log2(3), 0])
    several = np.random.default_rng(0).random((30, 5)).astype(np.float32)
    expected = binom(1, several.astype(float)).entropy() / np.log(2)
    assert label_entropies(several) == pytest.approx(expected)


@crossed("seed", range(3), "kind", ["probabilities", "several", "no probabilities", "no labelled texts"])
def test_facility_location_is_that_of_the_loop(seed, kind):
    pool = random_pool(seed, texts=40)
    uncertainty = 1 - margins(pool.probabilities)
    if kind == "several":
        pool = replace(pool, several=True)
        uncertainty = np.array([
            np.mean([reference_suggestions.entropy_of([yes, 1 - yes]) / np.log(2) for yes in row])
            for row in pool.probabilities
        ])  # fmt: skip
    elif kind == "no probabilities":
        pool, uncertainty = replace(pool, probabilities=None), np.ones(40)
    labelled = np.random.default_rng(seed + 100).normal(size=(0 if kind == "no labelled texts" else 3, 7))
    expected = reference_suggestions.facility_location(pool.vectors, labelled, uncertainty, 10)
    chosen = uncertain_facilities(replace(pool, labelled=labelled), 10, np.random.default_rng(0))
    assert chosen.tolist() == expected


def test_a_text_like_a_labelled_one_is_not_chosen():
    """Three groups of texts, of 9, 7 and 5; the largest has a labelled text."""
    vectors = blobs([9, 7, 5])
    pool = Pool(vectors=vectors, labelled=vectors[:1])
    group = np.repeat([0, 1, 2], [9, 7, 5])
    assert group[uncertain_facilities(pool, 2, np.random.default_rng(0))].tolist() == [1, 2]
    alone = replace(pool, labelled=None)
    assert group[uncertain_facilities(alone, 2, np.random.default_rng(0))].tolist() == [0, 1]


def test_every_predicted_label_has_its_turn():
    """4, 2 and 1 texts of three labels, and none of a fourth: turns until 6 are chosen."""
    predicted = np.array([2, 0, 0, 1, 0, 1, 0])
    pool = Pool(np.eye(4)[predicted], random_pool(0, texts=7).vectors)
    chosen = balanced_facilities(pool, 6, np.random.default_rng(0))
    assert predicted[chosen].tolist() == [0, 1, 2, 0, 1, 0] and len(set(chosen.tolist())) == 6
    own = np.flatnonzero(predicted == 0)
    expected = reference_suggestions.facility_location(pool.vectors[own], np.zeros((0, 7)), np.ones(4), 3)
    assert [place for place in chosen.tolist() if predicted[place] == 0] == own[expected].tolist()


def test_of_many_texts_each_part_gives_its_share(monkeypatch):
    """With 20 at once, 12 of 90 texts are chosen in 3 parts; the texts of one group do not come up again."""
    monkeypatch.setattr(strategies, "MOST", 20)
    vectors = blobs([30, 30, 30])
    chosen = uncertain_facilities(Pool(vectors=vectors), 12, np.random.default_rng(0))
    assert len(set(chosen.tolist())) == 12
    assert sorted((chosen[:3] // 30).tolist()) == [0, 1, 2]
    assert uncertain_facilities(Pool(vectors=vectors), 90, np.random.default_rng(0)).tolist() != list(range(90))


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
