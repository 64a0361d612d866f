"""Classes that are hard to tell apart: the area of Hand and Till by counting pairs of rows."""

import numpy as np
import pytest

from salience.audit.separation import LEAST, area_of, close_pairs


def drawn(rows: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    probabilities = draw.dirichlet(np.ones(classes), rows).round(1)  # ties are frequent
    return draw.integers(0, classes, rows), probabilities


def area_by_counting(labels, probabilities, one, other) -> float:
    areas = []
    for own, rest in ((one, other), (other, one)):
        pairs = [
            (x[own] > y[own]) + 0.5 * (x[own] == y[own])
            for x, label in zip(probabilities, labels, strict=True) if label == own
            for y, second in zip(probabilities, labels, strict=True) if second == rest
        ]  # fmt: skip
        areas.append(sum(pairs) / len(pairs))
    return sum(areas) / 2


@pytest.mark.parametrize("seed", range(4))
def test_the_area_is_that_of_counted_pairs(seed):
    labels, probabilities = drawn(60, 4, seed)
    for one, other in ((0, 1), (2, 3), (0, 3)):
        expected = area_by_counting(labels, probabilities, one, other)
        assert area_of(labels, probabilities, one, other) == pytest.approx(expected, abs=1e-12)


def test_a_class_that_is_split_at_random_is_found_with_its_confused_rows():
    draw = np.random.default_rng(0)
    true = np.arange(200) % 2
    labels = np.where(true == 1, draw.integers(1, 3, 200), 0)  # classes 1 and 2 are one
    probabilities = np.where(true[:, None] == 1, [0.1, 0.45, 0.45], [0.8, 0.1, 0.1]) + draw.random((200, 3)) * 0.05
    (pair,) = close_pairs(labels, probabilities)
    assert pair.classes == (1, 2) and 0.4 < pair.area < 0.65
    predicted = probabilities.argmax(1)
    assert pair.confused == [row for row in range(200) if predicted[row] != labels[row]]
    assert len(pair.confused) > 10


def test_classes_of_few_rows_are_left_out():
    labels = np.array([0] * 50 + [1] * (LEAST - 1))
    probabilities = np.tile([0.6, 0.4], (len(labels), 1))
    assert close_pairs(labels, probabilities) == []
    labels, probabilities = np.append(labels, 1), np.append(probabilities, [[0.6, 0.4]], 0)
    assert [pair.area for pair in close_pairs(labels, probabilities)] == [0.5]


def test_pairs_come_in_the_order_of_their_areas():
    labels, probabilities = drawn(300, 4, 9)
    areas = [pair.area for pair in close_pairs(labels, probabilities)]
    assert areas == sorted(areas) and len(areas) > 2
