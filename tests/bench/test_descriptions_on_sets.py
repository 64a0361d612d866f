"""The measurement of descriptions: rows are drawn by class, and every described set has a sentence for each label."""

import numpy as np
import pytest

from descriptions import SENTENCES, SIZES, draw, fitted
from development import SETS


def test_rows_are_drawn_by_class():
    rows = [{"label": "ab"[number % 3 == 0]} for number in range(60)]
    first, second = draw(rows, ["a", "b"], 0)
    assert len(first) == len(second) == max(SIZES) and not set(first) & set(second)
    assert {rows[number]["label"] for number in first} == {"a"}
    assert draw(rows, ["a", "b"], 0) == [first, second] != draw(rows, ["a", "b"], 1)


def test_the_smallest_regression_sees_one_row_of_each_class():
    known = {0: np.array([1.0, 0]), 1: np.array([0, 1.0]), 2: np.array([0, 1.0]), 3: np.array([1.0, 0])}
    assert fitted(known, [[0, 2], [1, 3]], 1).predict([[1.0, 0], [0, 1.0]]).tolist() == [0, 1]


@pytest.mark.parametrize("name", SENTENCES)
def test_the_sentences_are_of_known_sets(name):
    assert name in SETS and all(text.endswith((".", "?")) for text in SENTENCES[name].values())
