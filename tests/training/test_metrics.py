"""Scores against worked numbers and against another library."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchmetrics.classification import MulticlassCalibrationError

from salience.training.metrics import calibration_error, scores, selection


def test_a_worked_calibration_error():
    # Two answers at .75, one right: a gap of .25. One at .95, right: a gap of .05. (2 * .25 + .05) / 3
    probabilities = np.array([[0.75, 0.25], [0.25, 0.75], [0.95, 0.05]])
    assert calibration_error(probabilities, np.array([0, 0, 0])) == pytest.approx(0.55 / 3)


def test_bounds_of_the_calibration_error():
    sure = np.eye(3)
    assert calibration_error(sure, np.array([0, 1, 2])) == 0
    assert calibration_error(sure, np.array([1, 2, 0])) == 1


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 60), st.integers(2, 6), st.integers(0, 10_000), st.sampled_from([1, 5, 15]))
def test_calibration_error_agrees_with_torchmetrics(rows, classes, seed, bins):
    random = np.random.default_rng(seed)
    probabilities = random.dirichlet(np.full(classes, 0.5), rows)
    labels = random.integers(0, classes, rows)
    theirs = MulticlassCalibrationError(classes, n_bins=bins, norm="l1", validate_args=False)
    expected = theirs(torch.tensor(probabilities), torch.tensor(labels)).item()
    assert calibration_error(probabilities, labels, bins) == pytest.approx(expected, abs=1e-6)


def test_scores_of_a_small_table():
    probabilities = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.7, 0.3]])
    found = scores(probabilities, np.array([0, 1, 1, 0]))
    assert found["accuracy"] == 0.75
    # class 0: precision 2/3, recall 1, F1 .8; class 1: precision 1, recall 1/2, F1 2/3
    assert found["macro_f1"] == pytest.approx((0.8 + 2 / 3) / 2)
    assert found["log_loss"] == pytest.approx(-np.log([0.9, 0.4, 0.8, 0.7]).mean())


def test_selection_is_accuracy_first_and_log_loss_among_equals():
    labels = np.array([0, 1, 0, 1])
    sure = np.array([[0.99, 0.01], [0.01, 0.99], [0.99, 0.01], [0.99, 0.01]])  # three right, one very wrong
    unsure = np.array([[0.6, 0.4], [0.4, 0.6], [0.6, 0.4], [0.6, 0.4]])  # three right
    all_right = np.array([[0.51, 0.49], [0.49, 0.51], [0.51, 0.49], [0.49, 0.51]])
    assert selection(unsure, labels) > selection(sure, labels)  # the same accuracy, a smaller loss
    assert selection(all_right, labels) > selection(unsure, labels)
    worst = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])  # an infinite loss costs less than a text
    two_right = np.array([[0.9, 0.1], [0.1, 0.9], [0.4, 0.6], [0.6, 0.4]])
    assert selection(worst, labels) > selection(two_right, labels)
