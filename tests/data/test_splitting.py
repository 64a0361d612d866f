"""Rows held out, and rows drawn: shares of classes and of several labels, whole units, nested draws, by a seed."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience.data.splitting import (
    contradictions,
    draw,
    drawing_order,
    drawn,
    group_numbers,
    held_out_rows,
    nested_rows,
    shared_rows,
    split,
    stratified_parts,
)
from salience.data.texts import Texts
from salience.errors import InputError

ANY = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=40)
LABELS = ANY.map(lambda labels: labels + sorted(set(labels)))  # two rows of each class at least
SHARES = st.floats(0.01, 0.99)


@given(labels=LABELS, share=SHARES, seed=st.integers(0, 5))
@settings(max_examples=50, deadline=None)
def test_what_holds_of_every_split(labels, share, seed):
    train, held_out = split(labels, share, seed)
    assert sorted(train + held_out) == list(range(len(labels)))
    assert train == sorted(train)
    assert held_out == sorted(held_out)
    classes, kept, held = Counter(labels), Counter(labels[i] for i in train), Counter(labels[i] for i in held_out)
    assert set(kept) == set(classes)
    assert len(held_out) == min(max(round(share * len(labels)), 1), len(labels) - len(classes))
    if len(held_out) >= len(classes):
        assert set(held) == set(classes)
    # Of two classes, the larger one never has fewer rows held out by more than rounding makes of it.
    for one, other in zip(classes, list(classes)[1:], strict=False):
        if classes[one] > classes[other]:
            assert held[one] >= held[other] - 1
    # Units of one row change nothing, also where rows have several labels.
    units = np.random.default_rng(seed).permutation(len(labels))
    assert split(labels, share, seed, units=units) == (train, held_out)
    several = [(label,) for label in labels]
    assert split(several, share, seed, units=units) == split(several, share, seed)


COUNTS = [  # rows of each class, the share, rows held out
    ({"a": 500, "b": 300, "c": 200}, 0.1, {"a": 50, "b": 30, "c": 20}),
    (dict.fromkeys(range(77), 5), 0.2, dict.fromkeys(range(77), 1)),
    ({"many": 96, "few": 2, "couple": 2}, 0.1, {"many": 8, "few": 1, "couple": 1}),
    ({"many": 96, "few": 2, "couple": 2}, 0.9, {"many": 88, "few": 1, "couple": 1}),
    ({"a": 40, "b": 30, "c": 2, "d": 2}, 0.03, {"a": 1, "b": 1}),  # few: the larger classes have them
]


def test_classes_have_their_share():
    for counts, share, expected in COUNTS:
        labels = [label for label, count in counts.items() for _ in range(count)]
        assert Counter(labels[row] for row in split(labels, share, 0)[1]) == expected, (counts, share)
    assert len({tuple(split(["a", "b"] * 50, 0.2, seed)[1]) for seed in range(10)}) == 10


@given(labels=LABELS, share=SHARES, seed=st.integers(0, 5), several=st.booleans(), data=st.data())
@settings(max_examples=50, deadline=None)
def test_no_unit_is_divided_and_every_class_keeps_a_row(labels, share, seed, several, data):
    units = np.array(data.draw(st.lists(st.integers(0, 12), min_size=len(labels), max_size=len(labels))))
    given_labels = [(label,) for label in labels] if several else labels
    try:
        train, held_out = split(given_labels, share, seed, units=units)
    except InputError as error:
        assert "no rows can be held out" in str(error)
        of_units = [{label for label, own in zip(labels, units, strict=True) if own == unit} for unit in set(units)]
        alone = [sum(label in own for own in of_units) == 1 for label in sorted(set(labels))]
        assert any(alone)  # a label whose rows are all in one unit
        return
    assert sorted(train + held_out) == list(range(len(labels))) and held_out
    assert not set(units[train]) & set(units[held_out])
    assert {labels[row] for row in train} == set(labels)
    assert split(given_labels, share, seed, units=units) == (train, held_out)


def test_classes_have_their_share_of_units_of_all_sizes():
    """A fifth of 600, 300 and 100 rows in pairs, single rows, and texts that are there four times."""
    labels = ["a"] * 600 + ["b"] * 300 + ["c"] * 100
    units = np.concatenate([np.arange(200) // 2, np.arange(200, 600), 600 + np.arange(400) // 4])
    found = []
    for seed in range(10):
        held_out = split(labels, 0.2, seed, units=units)[1]
        assert Counter(labels[row] for row in held_out) == {"a": 120, "b": 60, "c": 20}
        found.append(sum(row < 200 for row in held_out))
    assert 25 < np.mean(found) < 55  # of the rows of pairs, a fifth of 200 is 40: large units are not left behind


def test_large_groups_are_held_out_as_nearly_as_possible():
    """Ten authors of six texts of one class each: a fifth is an author of each class."""
    labels = [label for number in range(10) for label in "xy"[number % 2] * 6]
    held_out = split(labels, 0.2, 0, units=np.arange(60) // 6)[1]
    assert Counter(labels[row] for row in held_out) == {"x": 6, "y": 6}
    # No author fits a tenth, which is three rows of each class: one author is held out all the same.
    assert len(split(labels, 0.1, 0, units=np.arange(60) // 6)[1]) == 6


def test_what_cannot_be_split_or_drawn_is_named(complaint):
    one = complaint(split, ["a", "a", "b"], 0.5, 0, source="a.csv")
    assert one.startswith("a.csv: a single row of a class") and '"b"' in one and "--validation FILE" in one
    assert '"b", "c"' in complaint(split, ["a", "a", "b", "c"], 0.5, 0)
    none = complaint(split, list("abab"), 0.5, 0, "rows.csv", np.zeros(4, int))
    assert none.startswith("rows.csv: no rows can be held out, because every group")
    labels = list("abcd") * 250
    assert complaint(draw, labels, 1001, 0, "a.csv") == "a.csv: size 1,001 is more than its 1,000 labelled rows"
    assert "size 3 is less than its 4 classes" in complaint(draw, labels, 3, 0)
    assert "--most 1 is less than its 2 classes" in complaint(draw, [("a", "b"), ("a",)], 1, 0, option="--most")


def test_equal_texts_contradictions_and_groups():
    assert shared_rows(Texts(["a", "b ", "c"]), Texts([" a", "b", "b", "B", "d"])) == 3
    assert shared_rows(Texts(["a", "a"], ["x", "y"]), Texts(["a", "a", "x"], ["x ", "z", "a"])) == 1
    assert contradictions(Texts(["a", " a", "b", "b", "c"], labels=[0, 1, 0, 0, 1])) == 2
    assert contradictions(Texts(["a", "a"], labels=[[0, 1], [0, 1]])) == 0
    assert group_numbers(Texts(["a", "b", " a"])).tolist() == [0, 1, 0]
    assert group_numbers(Texts(["a", "b", "a"], groups=["x", "x", "y "])).tolist() == [0, 0, 1]


# Draws.

MANY = ["a"] * 600 + ["b"] * 300 + ["c"] * 90 + ["d"] * 10
SIZES = {
    4: {"a": 1, "b": 1, "c": 1, "d": 1},
    8: {"a": 2, "b": 2, "c": 2, "d": 2},
    100: {"a": 59, "b": 30, "c": 9, "d": 2},
    500: {"a": 300, "b": 150, "c": 45, "d": 5},
    1000: {"a": 600, "b": 300, "c": 90, "d": 10},
}


@pytest.mark.parametrize("seed", range(3))
def test_smaller_draws_are_parts_of_larger_ones_and_classes_have_their_share(seed):
    draws = [draw(MANY, size, seed) for size in SIZES]
    assert all(set(smaller) < set(larger) for smaller, larger in pairwise(draws))
    for rows, (size, expected) in zip(draws, SIZES.items(), strict=True):
        found = Counter(MANY[row] for row in rows)
        assert len(rows) == size and rows == sorted(rows)
        assert all(abs(found[label] - count) <= 1 for label, count in expected.items()), found
    assert draw(MANY, 100, seed) == draws[2] != draw(MANY, 100, seed + 1)


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=60), st.integers(0, 5))
@settings(max_examples=50, deadline=None)
def test_every_prefix_follows_the_slow_rule(labels, seed):
    """First every class once, then every class twice, then always the class that has the least of its rows."""
    order = drawing_order(labels, seed)
    assert sorted(order) == list(range(len(labels)))
    taken: Counter = Counter()
    sizes = Counter(labels)
    for row in order:
        left = [label for label in sizes if taken[label] < sizes[label]]

        def place(label):
            return taken[label] - 2 if taken[label] < 2 else (taken[label] + 0.5) / sizes[label]

        assert place(labels[row]) == min(map(place, left))
        taken[labels[row]] += 1


def test_every_row_is_drawn_equally_often():
    counts = np.zeros(40)
    for seed in range(1000):
        counts[draw(["a"] * 20 + ["b"] * 20, 10, seed)] += 1
    assert np.abs(counts / 1000 - 0.25).max() < 0.07  # five standard errors
    texts = Texts([str(number) for number in range(40)])
    assert len(set(drawn(texts, 10, 0).texts)) == 10 and drawn(texts, 40, 0) is texts
    assert drawn(texts, 10, 0) == drawn(texts, 10, 0) != drawn(texts, 10, 1)


# Rows with several labels.

RATES = np.array([0.5, 0.3, 0.2, 0.1, 0.05, 0.02])


def drawn_labels(rows: int, seed: int = 0) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    indicators = (np.random.default_rng(seed).random((rows, len(RATES))) < RATES).astype(int)
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
    without_labels = stratified_parts(np.zeros((10, 2), int), [0.5, 0.5], 0)
    assert np.bincount(without_labels).tolist() == [5, 5]


def test_groups_are_not_divided_and_labels_are_still_balanced():
    indicators, _ = drawn_labels(600)
    groups = np.arange(600) // 3
    part = stratified_parts(indicators, [0.5, 0.5], 0, groups)
    assert all(len(set(part[groups == group])) == 1 for group in range(200))
    assert farthest_from_share(part, indicators, 2) <= 3


def test_held_out_rows_leave_every_label_a_row_to_train_on():
    labels = [("often",)] * 20 + [("once",)] + [()] * 5
    for share in (0.1, 0.5, 0.9):
        for seed in range(5):
            kept, held = split(labels, share, seed)
            assert sorted(kept + held) == list(range(26)) and 20 in kept and held
    assert held_out_rows([("a",), ("a",), ("b",)], 0.1, 0) == [1]  # a row at least, but not the only one of a label
    assert held_out_rows([("a",), ("b",)], 0.1, 0) == []


def test_draws_of_rows_with_several_labels_are_nested_and_stratified():
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
    equal = [("a", "b")] * 7
    assert [len(nested_rows(equal, size, 0)) for size in range(8)] == list(range(8))
