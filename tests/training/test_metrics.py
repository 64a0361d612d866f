"""Scores against worked numbers and against another library."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchmetrics.classification import MulticlassCalibrationError
from transformers import EvalPrediction

from salience.scores.metrics import calibration_error, scores, selection
from salience.training.fit import validation_scores


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


def guesses(right: int, rows: int):
    """Probabilities of a model that is right on so many of the rows, all of class 0."""
    return np.array([[0.8, 0.2]] * right + [[0.3, 0.7]] * (rows - right)), np.zeros(rows, dtype=int)


def test_among_equals_the_later_checkpoint_is_chosen():
    for right in (0, 7, 20):
        values = [selection(*guesses(right, 20), progress) for progress in (0.05, 0.5, 1.0)]
        assert values == sorted(values)
        assert values[0] < values[1] < values[2]


def test_an_earlier_checkpoint_is_chosen_only_if_it_is_better_beyond_chance():
    """15 of 20: the standard error is sqrt(16 * 6 / 22^3) = 0.095, so 18 of 20 may be luck and 19 of 20 are not."""
    last = selection(*guesses(15, 20), 1.0)
    assert last == pytest.approx(0.75 + 2 * (16 * 6 / 22**3) ** 0.5)
    assert selection(*guesses(18, 20), 0.0) < last < selection(*guesses(19, 20), 0.0)
    # Of 2,000 rows half as large a difference, 10 points, is none of chance.
    assert selection(*guesses(1500, 2000), 1.0) < selection(*guesses(1700, 2000), 0.0)


@pytest.mark.parametrize("prefer_later", [True, False])
def test_later_checkpoints_are_preferred_on_request_only(prefer_later):
    probabilities, labels = guesses(15, 20)
    found = []
    for step in (1, 10):
        model = SimpleNamespace(config=SimpleNamespace(problem_type="single_label_classification"))
        trainer = SimpleNamespace(model=model, state=SimpleNamespace(global_step=step, max_steps=10))
        scores = validation_scores(trainer, prefer_later, EvalPrediction(np.log(probabilities), labels))
        assert scores["accuracy"] == 0.75
        found.append(scores["selection"])
    error = (16 * 6 / 22**3) ** 0.5
    assert found == pytest.approx([0.75 + 0.2 * error, 0.75 + 2 * error] if prefer_later else [0.75, 0.75])


def test_of_equally_late_checkpoints_the_better_is_chosen():
    for rows in (1, 5, 20, 500):
        values = [selection(*guesses(right, rows), 1.0) for right in range(rows + 1)]
        assert np.diff(values).min() > 0
