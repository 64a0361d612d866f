"""Draws are nested, stratified, and decided by their seed."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.data.splitting import draw, drawing_order
from salience.errors import InputError

LABELS = ["a"] * 600 + ["b"] * 300 + ["c"] * 90 + ["d"] * 10


@pytest.mark.parametrize("seed", range(5))
def test_smaller_draws_are_parts_of_larger_ones(seed):
    draws = [set(draw(LABELS, size, seed)) for size in (8, 20, 50, 100, 500, 1000)]
    for smaller, larger in pairwise(draws):
        assert smaller < larger
    assert draws[-1] == set(range(1000))


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (4, {"a": 1, "b": 1, "c": 1, "d": 1}),
        (8, {"a": 2, "b": 2, "c": 2, "d": 2}),
        (100, {"a": 59, "b": 30, "c": 9, "d": 2}),
        (500, {"a": 300, "b": 150, "c": 45, "d": 5}),
    ],
)
def test_classes_have_their_share(size, expected):
    found = Counter(LABELS[row] for row in draw(LABELS, size, seed=1))
    assert sum(found.values()) == size
    for label, count in expected.items():
        assert abs(found[label] - count) <= 1, (label, found)


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=60), st.integers(0, 5))
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


def test_seeds_draw_differently_and_repeatably():
    assert draw(LABELS, 100, 3) == draw(LABELS, 100, 3) != draw(LABELS, 100, 4)


def test_every_row_is_drawn_equally_often():
    counts = np.zeros(40)
    for seed in range(2000):
        counts[draw(["a"] * 20 + ["b"] * 20, 10, seed)] += 1
    assert np.abs(counts / 2000 - 0.25).max() < 0.05  # five standard errors


def test_no_such_draw():
    with pytest.raises(InputError, match=r"rows\.csv: --size 1,001 is more than its 1,000 labelled rows"):
        draw(LABELS, 1001, 0, "rows.csv")
    with pytest.raises(InputError, match="--size 3 is less than its 4 classes"):
        draw(LABELS, 3, 0)
