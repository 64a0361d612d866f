"""Likely wrong labels: what cleanlab is asked, and what holds of its answers, by hand."""

import warnings

import numpy as np
import pytest

from salience.audit.wrong_labels import estimated_counts, likely_wrong, of_each_label, wrongness


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
    for number, given, both in of_each_label(labels, probabilities):
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
