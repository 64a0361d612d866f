"""Near-duplicates and outliers, by slow loops over all pairs of rows."""

import tracemalloc

import numpy as np
import pytest

from salience.audit import neighbours
from salience.audit.neighbours import above_fence, duplicate_groups, matches, outlier_scores
from salience.data.texts import Texts


def unit(vectors) -> np.ndarray:
    vectors = np.asarray(vectors, np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def clustered(rows: int, seed: int) -> np.ndarray:
    """Vectors around a third as many centres."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(size=(rows // 3, 8))
    return unit(centres[draw.integers(0, len(centres), rows)] + draw.normal(size=(rows, 8)) * 0.2)


def groups_by_loops(texts, vectors, similarity) -> list[tuple[list[int], float]]:
    """Groups grow by one link at a time until nothing changes."""
    rows = range(len(texts))

    def cosine(one, other):
        if texts[one].strip() == texts[other].strip():
            return 1.0
        return float(vectors[one].astype(float) @ vectors[other].astype(float))

    group = list(rows)
    changed = True
    while changed:
        changed = False
        for one in rows:
            for other in rows:
                if cosine(one, other) >= similarity and group[other] > group[one]:
                    group[other], changed = group[one], True
    found = [[row for row in rows if group[row] == number] for number in set(group)]
    return sorted(
        (own, min(max(cosine(row, other) for other in own if other != row) for row in own))
        for own in found if len(own) > 1
    )  # fmt: skip


@pytest.mark.parametrize(("similarity", "seed", "block"), [(0.9, 0, 4), (0.95, 1, neighbours.BLOCK), (0.98, 2, 7)])
def test_groups_are_those_of_the_loops(similarity, seed, block, monkeypatch):
    monkeypatch.setattr(neighbours, "BLOCK", block)
    vectors = clustered(45, seed)
    texts = [f"text {number}" for number in range(45)]
    texts[7], texts[30] = " text 2", "text 2 "  # equal but for space, whatever their vectors
    found = duplicate_groups(Texts(texts), vectors, similarity)
    own = sorted(found)
    expected = groups_by_loops(texts, vectors[first_of_each(texts)], similarity)
    assert [places for places, _ in own] == [places for places, _ in expected]
    np.testing.assert_allclose([value for _, value in own], [value for _, value in expected], atol=1e-6)
    cosines = [cosine for _, cosine in found]
    assert cosines == sorted(cosines, reverse=True) and len(found) > 1


@pytest.mark.parametrize("block", [7, 1000])
def test_a_chain_of_similar_rows_is_one_group(block, monkeypatch):
    """Every row is similar to the next one alone, and the chain goes to and fro between the blocks."""
    monkeypatch.setattr(neighbours, "BLOCK", block)
    place = np.random.default_rng(0).permutation(60)
    angles = np.where(place < 40, place, place + 5) * 0.09  # a gap divides the chain in two
    found = duplicate_groups(Texts([str(each) for each in place]), unit(np.c_[np.cos(angles), np.sin(angles)]), 0.99)
    assert sorted(places for places, _ in found) == sorted(
        np.flatnonzero(part).tolist() for part in (place < 40, place >= 40)
    )


def test_texts_of_one_template_do_not_take_the_square_of_their_number():
    rows = 4000
    vectors = unit(1 + 0.01 * np.random.default_rng(0).normal(size=(rows, 8)))
    texts = Texts([f"your code is {number}" for number in range(rows)])
    tracemalloc.start()
    try:
        groups = duplicate_groups(texts, vectors, 0.95)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [len(places) for places, _ in groups] == [rows]
    assert peak < 4 * rows**2  # bytes: all cosines at once in float32 are as many, and all links more


def first_of_each(texts) -> list[int]:
    """Equal texts have one vector, that of the first."""
    stripped = [text.strip() for text in texts]
    return [stripped.index(text) for text in stripped]


def test_pairs_are_equal_only_if_both_texts_are():
    texts = Texts(["a", "a", "a"], ["b", "c", "b "])
    vectors = unit([[1, 0], [0, 1], [1, 0]])
    assert [places for places, _ in duplicate_groups(texts, vectors, 0.95)] == [[0, 2]]


def test_a_similarity_of_one_is_for_equal_vectors():
    vectors = unit([[3, 1, 2], [3, 1, 2], [3, 1, 2.1]])
    found = duplicate_groups(Texts(["a", "b", "c"]), vectors, 1.0)
    assert found == [([0, 1], pytest.approx(1, abs=1e-6))]


@pytest.mark.parametrize("similarity", [0.5, 0.9])
def test_matches_are_those_of_a_loop(similarity):
    vectors, others = np.split(clustered(55, 0), [40])
    products = [[float(own @ vector) for vector in vectors] for own in others]
    expected = {}
    for other, own in enumerate(products):
        if max(own) >= similarity:
            nearest = [row for row in range(40) if max(range(15), key=lambda each: products[each][row]) == other]
            near = {row for row in nearest if own[row] >= similarity} | {own.index(max(own))}
            expected[other] = sorted(near, key=lambda row: -own[row])
    found = matches(vectors, others, similarity)
    assert {other: places for other, places, _ in found} == expected
    assert expected and max(map(len, expected.values())) > 1
    for other, _, cosine in found:
        assert cosine == pytest.approx(max(products[other]), abs=1e-6)
    # All rows that are similar to any other row are there.
    assert {row for _, places, _ in found for row in places} == {
        row for row in range(40) if max(own[row] for own in products) >= similarity
    }


def test_rows_and_other_rows_that_are_there_twice():
    vectors = unit([[3, 1, 2], [1, 3, 2], [3, 1, 2]])
    found = matches(vectors, vectors[[0, 2]], 1.0)
    assert [(other, sorted(places)) for other, places, _ in found] == [(0, [0, 2]), (1, [0])]
    assert [cosine for *_, cosine in found] == pytest.approx([1, 1], abs=1e-6)


@pytest.mark.parametrize("cosines", [(0.95, 0.9499999), (0.9499999, 0.95)])
def test_a_cosine_at_the_limit_may_be_rounded_to_either_side(cosines, monkeypatch):
    answers = iter([(np.array([cosine]), np.array([0])) for cosine in cosines])
    monkeypatch.setattr("salience.audit.neighbours.most_similar", lambda *_: next(answers))
    (match,) = matches(np.ones((1, 1)), np.ones((1, 1)), 0.95)
    assert match[:2] == (0, [0])


def test_equal_rows_take_no_more_memory_than_there_are_rows():
    """All pairs of them would be a million places."""
    vectors = unit(np.ones((1000, 3)))
    found = matches(vectors, vectors, 0.95)
    assert len(found) == 1000 and sum(len(places) for _, places, _ in found) < 2000


@pytest.mark.parametrize("rows", [2, 6, 40])
def test_outlier_scores_are_mean_distances_to_the_nearest_others(rows):
    vectors = unit(np.random.default_rng(rows).normal(size=(rows, 8)))
    scores = outlier_scores(vectors)
    for row in range(rows):
        distances = sorted(1 - float(vectors[row] @ vectors[other]) for other in range(rows) if other != row)
        assert scores[row] == pytest.approx(np.mean(distances[:10]), abs=1e-6)


def test_the_fence_by_hand():
    # Quartiles of 0 ... 8 and 100: 2.25 and 6.75, so the fence is 6.75 + 1.5 * 4.5 = 13.5.
    assert np.flatnonzero(above_fence(np.array([*range(9), 100.0]))).tolist() == [9]
    assert not above_fence(np.array([*range(9), 13.0])).any()


def test_a_far_text_is_above_the_fence():
    near = unit(np.random.default_rng(0).normal(size=(60, 4)) * 0.1 + [1, 0, 0, 0])
    scores = outlier_scores(np.concatenate([near, unit([[0, 0, 0, -1]])]))
    assert above_fence(scores)[60] and scores.argmax() == 60
