"""The scores of one label for a text: worked numbers, other libraries, and slow loops."""

import inspect
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, precision_recall_fscore_support
from torchmetrics.classification import MulticlassCalibrationError

from salience.scores.labels import ONE_LABEL, SEVERAL_LABELS
from salience.scores.metrics import BINS, ConfusedPair, calibration_error, confused_pairs, error_auroc

CASES = (st.integers(1, 60), st.integers(2, 6), st.integers(0, 10_000))


def drawn(rows: int, classes: int, seed: int):
    """Probabilities, some of which are equal, and labels that often agree with them."""
    random = np.random.default_rng(seed)
    probabilities = random.dirichlet(np.full(classes, 0.5), rows)
    probabilities[random.random(rows) < 0.3] = probabilities[0]
    right = random.random(rows) < 0.6
    return probabilities, np.where(right, probabilities.argmax(1), random.integers(0, classes, rows))


def error_of(probabilities, labels, equal_mass: bool = False, bins: int = BINS) -> float:
    return calibration_error(*ONE_LABEL.judged(probabilities, labels), equal_mass, bins)


def test_worked_scores():
    probabilities, labels = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.7, 0.3]]), np.array([0, 1, 1, 0])
    found = ONE_LABEL.detailed(probabilities, labels)
    assert found["accuracy"] == 0.75
    # class 0: precision 2/3, recall 1, F1 .8; class 1: precision 1, recall 1/2, F1 2/3
    assert found["macro_f1"] == pytest.approx((0.8 + 2 / 3) / 2)
    assert found["log_loss"] == pytest.approx(-np.log([0.9, 0.4, 0.8, 0.7]).mean())
    assert found["brier_score"] == pytest.approx(2 * (0.1**2 + 0.6**2 + 0.2**2 + 0.3**2) / 4)
    assert found["error_auroc"] == error_auroc(probabilities, labels) == 1
    assert ONE_LABEL.scores(probabilities, labels).items() <= found.items()
    assert found["calibration_error"] == error_of(probabilities, labels)
    assert found["equal_mass_calibration_error"] == error_of(probabilities, labels, equal_mass=True)
    assert ONE_LABEL.detailed(np.eye(3), np.arange(3))["error_auroc"] is None
    by_row = {name: values.mean() for name, values in ONE_LABEL.row_scores(probabilities, labels).items()}
    assert by_row == pytest.approx({name: found[name] for name in by_row}) and set(by_row) >= {"accuracy", "log_loss"}


def test_a_probability_of_nought_costs_what_its_type_can_tell():
    """A class without training rows: -ln 1.19e-7 in float32."""
    probabilities = np.array([[1, 0], [0.5, 0.5]], np.float32)
    assert ONE_LABEL.scores(probabilities, np.array([1, 0]))["log_loss"] == pytest.approx(
        (-np.log(np.finfo(np.float32).eps) + np.log(2)) / 2
    )


def test_worked_calibration_errors():
    # Two answers at .75, one right: a gap of .25. One at .95, right: a gap of .05. (2 * .25 + .05) / 3
    probabilities = np.array([[0.75, 0.25], [0.25, 0.75], [0.95, 0.05]])
    assert error_of(probabilities, np.array([0, 0, 0])) == pytest.approx(0.55 / 3)
    assert (error_of(np.eye(3), np.arange(3)), error_of(np.eye(3), np.array([1, 2, 0]))) == (0, 1)
    # Two bins of two rows. Confidences .5 and .6, one right: |.5 - .55|; .8 and .9, both right: |1 - .85|
    probabilities = np.array([[0.5, 0.5], [0.6, 0.4], [0.8, 0.2], [0.1, 0.9]])
    assert error_of(probabilities, np.array([0, 1, 0, 1]), True, 2) == pytest.approx((0.05 + 0.15) / 2)
    assert error_of(np.tile([0.7, 0.3], (40, 1)), np.array([0, 1] * 20), True) == pytest.approx(0.2)  # one bin


@settings(max_examples=40, deadline=None)
@given(*CASES, st.sampled_from([1, 5, 15]))
def test_the_calibration_error_agrees_with_torchmetrics(rows, classes, seed, bins):
    probabilities, labels = drawn(rows, classes, seed)
    theirs = MulticlassCalibrationError(classes, n_bins=bins, norm="l1", validate_args=False)
    expected = theirs(torch.tensor(probabilities), torch.tensor(labels)).item()
    assert error_of(probabilities, labels, bins=bins) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(2, 6), st.integers(0, 10_000), st.sampled_from([1, 5, 15]))
def test_equal_masses_are_the_bins_of_scikit_learn(per_bin, classes, seed, bins):
    """Without equal confidences, a multiple of the number of bins fills all of them alike."""
    random = np.random.default_rng(seed)
    probabilities = random.dirichlet(np.full(classes, 0.5), per_bin * bins)
    labels = random.integers(0, classes, len(probabilities))
    labels[0] = probabilities[0].argmax()
    confidence, right = probabilities.max(1), probabilities.argmax(1) == labels
    accuracies, means = calibration_curve(right, confidence, pos_label=True, n_bins=bins, strategy="quantile")
    assert len(means) == bins
    assert error_of(probabilities, labels, True, bins) == pytest.approx(np.abs(accuracies - means).mean())


@settings(max_examples=30)
@given(*CASES)
def test_equal_masses_by_a_slow_loop_in_any_order(rows, classes, seed):
    probabilities, labels = drawn(rows, classes, seed)
    confidence = probabilities.max(1)
    bounds = [np.percentile(confidence, 100 * number / BINS) for number in range(1, BINS)]
    total, seen = 0.0, 0
    for low, high in zip([-np.inf, *bounds], [*bounds, np.inf], strict=True):
        inside = [row for row in range(rows) if low < confidence[row] <= high]
        seen += len(inside)
        if inside:
            accuracy = sum(probabilities[row].argmax() == labels[row] for row in inside) / len(inside)
            total += len(inside) / rows * abs(accuracy - sum(confidence[row] for row in inside) / len(inside))
    order = np.random.default_rng(seed).permutation(rows)
    assert seen == rows
    assert error_of(probabilities[order], labels[order], True) == pytest.approx(total)


@settings(max_examples=30)
@given(*CASES)
def test_auroc_of_errors_counts_pairs(rows, classes, seed):
    """Over all pairs of a right and a wrong answer, the right one has the higher confidence; ties count half."""
    probabilities, labels = drawn(rows, classes, seed)
    confidence, right = probabilities.max(1), probabilities.argmax(1) == labels
    pairs = list(product(confidence[right], confidence[~right]))
    expected = np.mean([(one > other) + 0.5 * (one == other) for one, other in pairs]) if pairs else None
    assert error_auroc(probabilities, labels) == (None if expected is None else pytest.approx(expected))


@settings(max_examples=30)
@given(*CASES)
def test_the_brier_score_and_the_scores_of_classes_are_those_of_scikit_learn(rows, classes, seed):
    """Also of classes that are never predicted, and of those without rows."""
    probabilities, labels = drawn(rows, classes, seed)
    found = ONE_LABEL.class_scores(probabilities, labels)
    expected = precision_recall_fscore_support(
        labels, probabilities.argmax(1), labels=np.arange(classes), zero_division=0
    )
    for values, theirs in zip(found.values(), expected, strict=True):
        assert values.tolist() == theirs.tolist()
    assert ONE_LABEL.support(labels, classes).tolist() == found["support"].tolist()
    if "scale_by_half" in inspect.signature(brier_score_loss).parameters:  # from scikit-learn 1.7 on
        brier = brier_score_loss(labels, probabilities, labels=np.arange(classes), scale_by_half=False)
        assert ONE_LABEL.detailed(probabilities, labels)["brier_score"] == pytest.approx(brier)


def guesses(right: int, rows: int):
    """Probabilities of a model that is right on so many of the rows, all of class 0."""
    return np.array([[0.8, 0.2]] * right + [[0.3, 0.7]] * (rows - right)), np.zeros(rows, dtype=int)


def test_an_earlier_checkpoint_is_chosen_only_if_it_is_better_beyond_chance():
    """15 of 20: the standard error is sqrt(16 * 6 / 22^3) = 0.095, so 18 of 20 may be luck and 19 of 20 are not."""
    selection = ONE_LABEL.selection
    last = selection(*guesses(15, 20), 1.0)
    assert last == pytest.approx(0.75 + 2 * (16 * 6 / 22**3) ** 0.5)
    assert selection(*guesses(18, 20), 0.0) < last < selection(*guesses(19, 20), 0.0)
    # Of 2,000 rows half as large a difference, 10 points, is none of chance.
    assert selection(*guesses(1500, 2000), 1.0) < selection(*guesses(1700, 2000), 0.0)
    for right in (0, 7, 20):  # among equals the later one
        assert np.diff([selection(*guesses(right, 20), progress) for progress in (0.05, 0.5, 1.0)]).min() > 0
    for rows in (1, 5, 20, 500):  # of equally late ones the better one
        assert np.diff([selection(*guesses(right, rows), 1.0) for right in range(rows + 1)]).min() > 0


def test_the_most_confused_pairs_come_first_and_right_predictions_are_none():
    confusion = np.array([[9, 2, 0], [4, 1, 2], [0, 0, 7]])
    assert confused_pairs(confusion, 2) == [ConfusedPair(1, 0, 4, 7), ConfusedPair(0, 1, 2, 11)]
    assert confused_pairs(confusion, 9)[2:] == [ConfusedPair(1, 2, 2, 7)]
    assert confused_pairs(np.diag([3, 4]), 3) == []


def test_decisions_and_right_labels_are_indicators():
    probabilities, thresholds = np.array([[[0.2, 0.5, 0.3], [0.1, 0.8, 0.9]]]), np.array([0.2, 0.6, 0.9])
    assert ONE_LABEL.decisions(probabilities, thresholds).tolist() == [[[False, True, False], [False, False, True]]]
    assert SEVERAL_LABELS.decisions(probabilities, thresholds).tolist() == [
        [[True, False, False], [False, True, True]]
    ]
    assert ONE_LABEL.right(np.array([1, -1]), 3).tolist() == [[False, True, False], [False] * 3]
    several = SEVERAL_LABELS.right(np.array([[1, 0, 1], [-1, -1, -1]]), 3)
    assert several.tolist() == [[True, False, True], [False] * 3]
