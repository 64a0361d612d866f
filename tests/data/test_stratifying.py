"""Rows with several labels: every part has its share of each label, groups stay whole, draws are nested."""

import numpy as np
import pytest

from salience.data.splitting import draw, held_out_rows, indicators_of, nested_rows, split, stratified_parts
from salience.errors import InputError

SHARES = np.array([0.5, 0.3, 0.2, 0.1, 0.05, 0.02])


def drawn_labels(rows: int, seed: int = 0) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    indicators = (np.random.default_rng(seed).random((rows, len(SHARES))) < SHARES).astype(int)
    return indicators, [tuple(f"label {number}" for number in np.flatnonzero(row)) for row in indicators]


def farthest_from_share(part: np.ndarray, indicators: np.ndarray, parts: int) -> float:
    """The largest difference, in rows, between what a part has of a label and its share of that label."""
    counts = np.array([indicators[part == number].sum(0) for number in range(parts)])
    return np.abs(counts - indicators.sum(0) / parts).max()


@pytest.mark.parametrize("seed", range(3))
def test_every_fold_has_its_share_of_every_label_and_of_the_rows(seed):
    indicators, _ = drawn_labels(503, seed)
    part = stratified_parts(indicators, [0.2] * 5, seed)
    assert farthest_from_share(part, indicators, 5) < 2
    assert np.ptp(np.bincount(part)) <= 2
    by_chance = [np.random.default_rng(each).integers(5, size=503) for each in range(20)]
    assert min(farthest_from_share(each, indicators, 5) for each in by_chance) > 4  # what a plain draw gives


def test_a_worked_example_of_the_algorithm():
    """The rare label is handled first: its two rows go to different parts, and the other label fills up."""
    indicators = np.array([[1, 0], [1, 0], [1, 1], [1, 1]])
    part = stratified_parts(indicators, [0.5, 0.5], 0)
    assert sorted(part[2:]) == [0, 1] and sorted(part[:2]) == [0, 1]


def test_groups_are_not_divided_and_labels_are_still_balanced():
    indicators, _ = drawn_labels(600)
    groups = np.arange(600) // 3
    part = stratified_parts(indicators, [0.5, 0.5], 0, groups)
    assert all(len(set(part[groups == group])) == 1 for group in range(200))
    assert farthest_from_share(part, indicators, 2) <= 3


def test_rows_without_any_label_are_divided_too():
    part = stratified_parts(np.zeros((10, 2), int), [0.5, 0.5], 0)
    assert np.bincount(part).tolist() == [5, 5]


def test_held_out_rows_leave_every_label_a_row_to_train_on():
    labels = [("often",)] * 20 + [("once",)] + [()] * 5
    for share in (0.1, 0.5, 0.9):
        for seed in range(5):
            kept, held = split(labels, share, seed)
            assert sorted(kept + held) == list(range(26)) and 20 in kept and held
    assert held_out_rows(labels, 0.5, 0) == held_out_rows(labels, 0.5, 0)


def test_draws_are_nested_and_stratified():
    indicators, labels = drawn_labels(400)
    earlier: set[int] = set()
    for size in (6, 25, 50, 100, 101, 200, 399, 400):
        rows = draw(labels, size, 7)
        assert len(rows) == len(set(rows)) == size and earlier <= set(rows) and rows == sorted(rows)
        assert indicators[rows].any(0).all()  # every label occurs
        earlier = set(rows)
        if size >= 50:
            share = indicators[rows].sum(0) / size - indicators.mean(0)
            assert np.abs(share).max() < 0.06
    assert draw(labels, 50, 8) != draw(labels, 50, 7)


def test_equal_rows_are_drawn_in_any_number():
    labels = [("a", "b")] * 7
    assert [len(nested_rows(labels, size, 0)) for size in range(8)] == list(range(8))


def test_a_draw_of_fewer_rows_than_labels_is_refused():
    with pytest.raises(InputError, match="--size 1 is less than its 2 classes"):
        draw([("a", "b"), ("a",)], 1, 0)


def test_indicators_are_in_the_order_of_the_names():
    assert indicators_of([("b",), (), ("a", "b")]).tolist() == [[0, 1], [0, 0], [1, 1]]


def test_the_row_that_is_held_out_at_least_is_not_the_only_one_of_a_label():
    assert held_out_rows([("a",), ("a",), ("b",)], 0.1, 0) == [1]
    assert held_out_rows([("a",), ("b",)], 0.1, 0) == []
