"""Likely wrong labels: what cleanlab is asked, and what holds of its answers, by hand; and classes that are alike."""

import warnings

import numpy as np
import pytest

from salience.audit.findings import Finding
from salience.audit.wrong_labels import (
    LEAST,
    alike_classes,
    area,
    estimated_counts,
    likely_wrong,
    most_mistaken,
    of_each_label,
    share_of_wrong,
    wrongness,
)
from salience.data.task import Task
from salience.data.texts import Texts
from salience.scores.predictions import Predictions


def drawn(rows: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    probabilities = draw.dirichlet(np.full(classes, 0.5), rows).astype(np.float32)
    return draw.integers(0, classes, rows), probabilities


def test_by_hand():
    labels = np.array([0, 0, 0, 1, 1])
    first = np.array([0.9, 0.8, 0.1, 0.2, 0.3])
    probabilities = np.stack([first, 1 - first], 1)
    # The thresholds are 0.6 and 0.75: row 2 is confidently of class 1 and row 4, with 0.7, of none.
    assert estimated_counts(labels, probabilities).tolist() == [[2, 1], [0, 2]]
    np.testing.assert_allclose(wrongness(labels, probabilities), [-0.8, -0.6, 0.8, -0.6, -0.4])
    assert likely_wrong(labels, probabilities).tolist() == [False, False, True, False, False]


def test_a_label_that_is_the_most_probable_is_never_flagged_and_counts_keep_the_rows_of_every_label():
    labels, probabilities = drawn(500, 9, 3)
    flagged = likely_wrong(labels, probabilities)
    assert flagged.any() and (wrongness(labels, probabilities)[flagged] > 0).all()
    assert estimated_counts(labels, probabilities).sum(1).tolist() == np.bincount(labels, minlength=9).tolist()


def test_each_of_several_labels_is_judged_as_cleanlab_judges_several():
    from cleanlab.multilabel_classification.filter import find_multilabel_issues_per_class

    draw = np.random.default_rng(0)
    labels, probabilities = draw.integers(0, 2, (200, 3)), draw.random((200, 3))
    expected = find_multilabel_issues_per_class([np.flatnonzero(row).tolist() for row in labels], probabilities)
    found = np.zeros(labels.shape, bool)
    for number, given, both in of_each_label(Predictions(probabilities, labels)):
        found[:, number] = likely_wrong(given, both)
    assert found.any(0).all() and (found == expected).all()


def test_a_model_that_says_the_same_of_all_rows_flags_none_of_the_most_frequent_class():
    labels = np.array([0] * 6 + [1] * 3)
    probabilities = np.tile(np.float32([0.7, 0.3]), (9, 1))
    assert not likely_wrong(labels, probabilities)[:6].any()


def test_a_class_without_rows_is_nobodys_suggestion():
    labels = np.array([0, 0, 1, 1])
    probabilities = np.array([[0.1, 0.2, 0.7], [0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.2, 0.7, 0.1]])
    assert estimated_counts(labels, probabilities)[2].tolist() == [0, 0, 0]
    assert not likely_wrong(labels, probabilities).any()


@pytest.mark.parametrize("only", [0, 1])
def test_labels_of_one_class_are_not_wrong(only):
    """As of a label that every row has, or none."""
    labels, probabilities = np.full(6, only), drawn(6, 2, 0)[1]
    assert not likely_wrong(labels, probabilities).any()
    assert estimated_counts(labels, probabilities).tolist() == np.diag([6 * (only == 0), 6 * (only == 1)]).tolist()


def test_a_class_of_one_row_is_judged_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        likely_wrong(np.array([0] * 9 + [1]), drawn(10, 2, 1)[1])


def test_perfect_predictions_flag_nothing():
    labels = np.arange(30) % 3
    assert not likely_wrong(labels, np.eye(3)[labels]).any()


def test_the_most_mistaken_classes_are_given_and_true():
    counts = np.array([[6, 2, 0], [3, 5, 2], [0, 0, 2]])
    assert share_of_wrong(counts) == pytest.approx(7 / 20)
    # Of equally many rows, the order is that of the labels.
    assert most_mistaken(counts, ["a", "b", "c"], 3) == [
        ("b", "a", 3, 3 / 10),
        ("a", "b", 2, 2 / 8),
        ("b", "c", 2, 0.2),
    ]
    assert len(most_mistaken(counts, ["a", "b", "c"], 1)) == 1


def test_several_labels_are_missing_or_too_many():
    counts = np.array([[[7, 1], [0, 2]], [[4, 0], [3, 3]]])  # of each label: rows without it, and with it
    assert share_of_wrong(counts) == pytest.approx(4 / 20)
    assert most_mistaken(counts, ["joy", "fear"], 9) == [("fear", "lacks it", 3, 0.5), ("joy", "has it", 1, 1 / 8)]


def tied(rows: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
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


@pytest.mark.parametrize("seed", range(2))
def test_the_area_is_that_of_counted_pairs(seed):
    labels, probabilities = tied(60, 4, seed)
    for one, other in ((0, 1), (2, 3), (0, 3)):
        expected = area_by_counting(labels, probabilities, one, other)
        assert area(labels, probabilities, one, other) == pytest.approx(expected, abs=1e-12)


def alike(labels, probabilities) -> list[Finding]:
    names = [f"class {number}" for number in range(probabilities.shape[1])]
    task = Task(names, Texts([""] * len(labels), labels=labels))
    return alike_classes(task, Predictions(probabilities, labels, rows=np.arange(1, len(labels) + 1)))


def test_a_class_that_is_split_at_random_is_found_with_its_confused_rows():
    draw = np.random.default_rng(0)
    true = np.arange(200) % 2
    labels = np.where(true == 1, draw.integers(1, 3, 200), 0)  # classes 1 and 2 are one
    probabilities = np.where(true[:, None] == 1, [0.1, 0.45, 0.45], [0.8, 0.1, 0.1]) + draw.random((200, 3)) * 0.05
    (pair,) = alike(labels, probabilities)
    assert pair.details["labels"] == ["class 1", "class 2"] and 0.4 < pair.details["area"] < 0.65
    predicted = probabilities.argmax(1)
    assert pair.rows == [row + 1 for row in range(200) if predicted[row] != labels[row]]
    assert len(pair.rows) > 10 and pair.score == pytest.approx(1 - pair.details["area"], abs=1e-6)


def test_classes_of_few_rows_are_left_out():
    labels = np.array([0] * 50 + [1] * (LEAST - 1))
    probabilities = np.tile([0.6, 0.4], (len(labels), 1))
    assert alike(labels, probabilities) == []
    labels, probabilities = np.append(labels, 1), np.append(probabilities, [[0.6, 0.4]], 0)
    assert [pair.score for pair in alike(labels, probabilities)] == [0.5]


def test_pairs_come_in_the_order_of_their_areas():
    labels, probabilities = tied(300, 4, 9)
    areas = [pair.details["area"] for pair in alike(labels, probabilities)]
    assert areas == sorted(areas) and len(areas) > 2
