"""Brier score, calibration with bins of equal mass, AUROC of errors and scores of classes: worked, and by others."""

import inspect
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, classification_report

from salience.scores.metrics import (
    BINS,
    brier_score,
    class_scores,
    detailed_scores,
    equal_mass_calibration_error,
    error_auroc,
    scores,
)

CASES = (st.integers(1, 60), st.integers(2, 6), st.integers(0, 10_000))


def drawn(rows: int, classes: int, seed: int):
    """Probabilities, some of which are equal, and labels that often agree with them."""
    random = np.random.default_rng(seed)
    probabilities = random.dirichlet(np.full(classes, 0.5), rows)
    probabilities[random.random(rows) < 0.3] = probabilities[0]
    right = random.random(rows) < 0.6
    return probabilities, np.where(right, probabilities.argmax(1), random.integers(0, classes, rows))


def test_a_worked_brier_score():
    # (.3^2 + .2^2 + .1^2 for the first: .7 against 1) = .14; (.5^2 + .5^2 + 1) = 1.5
    probabilities = np.array([[0.7, 0.2, 0.1], [0.5, 0.5, 0.0]])
    assert brier_score(probabilities, np.array([0, 2])) == pytest.approx((0.14 + 1.5) / 2)


def test_bounds_of_the_brier_score():
    assert brier_score(np.eye(3), np.arange(3)) == 0
    assert brier_score(np.eye(3), np.array([1, 2, 0])) == 2


@pytest.mark.skipif(
    "scale_by_half" not in inspect.signature(brier_score_loss).parameters, reason="scikit-learn before 1.7"
)
@settings(max_examples=100)
@given(*CASES)
def test_the_brier_score_is_that_of_scikit_learn(rows, classes, seed):
    probabilities, labels = drawn(rows, classes, seed)
    expected = brier_score_loss(labels, probabilities, labels=np.arange(classes), scale_by_half=False)
    assert brier_score(probabilities, labels) == pytest.approx(expected)


def test_a_worked_calibration_error_with_equal_masses():
    # Two bins of two rows. Confidences .5 and .6, one right: |.5 - .55|; .8 and .9, both right: |1 - .85|
    probabilities = np.array([[0.5, 0.5], [0.6, 0.4], [0.8, 0.2], [0.1, 0.9]])
    assert equal_mass_calibration_error(probabilities, np.array([0, 1, 0, 1]), 2) == pytest.approx((0.05 + 0.15) / 2)


@settings(max_examples=100)
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
    expected = np.abs(accuracies - means).mean()
    assert equal_mass_calibration_error(probabilities, labels, bins) == pytest.approx(expected)


@given(*CASES)
def test_equal_masses_do_not_depend_on_the_order_of_the_rows(rows, classes, seed):
    probabilities, labels = drawn(rows, classes, seed)
    order = np.random.default_rng(seed).permutation(rows)
    expected = equal_mass_calibration_error(probabilities, labels)
    assert equal_mass_calibration_error(probabilities[order], labels[order]) == pytest.approx(expected)


def test_one_confidence_for_all_rows_is_one_bin():
    probabilities = np.tile([0.7, 0.3], (40, 1))
    labels = np.array([0, 1] * 20)
    assert equal_mass_calibration_error(probabilities, labels) == pytest.approx(0.2)


@given(*CASES)
def test_equal_masses_by_a_slow_loop(rows, classes, seed):
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
    assert seen == rows
    assert equal_mass_calibration_error(probabilities, labels) == pytest.approx(total)


@given(*CASES)
def test_auroc_of_errors_counts_pairs(rows, classes, seed):
    """Over all pairs of a right and a wrong answer, the right one has the higher confidence; ties count half."""
    probabilities, labels = drawn(rows, classes, seed)
    confidence, right = probabilities.max(1), probabilities.argmax(1) == labels
    pairs = list(product(confidence[right], confidence[~right]))
    found = error_auroc(probabilities, labels)
    if not pairs:
        assert found is None
    else:
        assert found == pytest.approx(np.mean([(one > other) + 0.5 * (one == other) for one, other in pairs]))


@settings(max_examples=30)
@given(*CASES)
def test_scores_of_classes_are_those_of_the_report(rows, classes, seed):
    probabilities, labels = drawn(rows, classes, seed)
    found = class_scores(probabilities, labels)
    report = classification_report(
        labels, probabilities.argmax(1), labels=range(classes), output_dict=True, zero_division=0
    )
    for number in range(classes):
        expected = report[str(number)]
        assert expected["f1-score"] == found["f1"][number]
        assert [expected[name] for name in ("precision", "recall", "support")] == [
            found[name][number] for name in ("precision", "recall", "support")
        ]


def test_worked_scores_of_classes():
    probabilities = np.eye(4)[[0, 0, 1, 1, 1]]
    found = class_scores(probabilities, np.array([0, 1, 1, 1, 2]))
    assert found["precision"].tolist() == pytest.approx([1 / 2, 2 / 3, 0, 0])
    assert found["recall"].tolist() == pytest.approx([1, 2 / 3, 0, 0])
    assert found["f1"].tolist() == pytest.approx([2 / 3, 2 / 3, 0, 0])
    assert found["support"].tolist() == [1, 3, 1, 0]


def test_detailed_scores_have_the_scores():
    probabilities, labels = drawn(40, 3, 0)
    found = detailed_scores(probabilities, labels)
    assert scores(probabilities, labels).items() <= found.items()
    assert found["error_auroc"] == error_auroc(probabilities, labels)
    assert found["brier_score"] == brier_score(probabilities, labels)
    assert found["equal_mass_calibration_error"] == equal_mass_calibration_error(probabilities, labels)
    assert found["log_loss"] == pytest.approx(-np.log(probabilities[np.arange(40), labels]).mean())
    assert detailed_scores(np.eye(3), np.arange(3))["error_auroc"] is None


def test_a_probability_of_nought_costs_what_its_type_can_tell():
    """A class without training rows: -ln 1.19e-7 in float32."""
    probabilities = np.array([[1, 0], [0.5, 0.5]], np.float32)
    assert detailed_scores(probabilities, np.array([1, 0]))["log_loss"] == pytest.approx(
        (-np.log(np.finfo(np.float32).eps) + np.log(2)) / 2
    )


@pytest.mark.parametrize("classes", [2, 5, 30])
def test_class_scores_are_those_of_scikit_learn(classes):
    """Also of classes that are never predicted, and of those without rows."""
    from sklearn.metrics import precision_recall_fscore_support

    random = np.random.default_rng(classes)
    labels = random.integers(0, max(classes - 1, 2), 40)
    probabilities = random.dirichlet(np.ones(classes), 40)
    expected = precision_recall_fscore_support(
        labels, probabilities.argmax(1), labels=np.arange(classes), zero_division=0
    )
    for found, values in zip(class_scores(probabilities, labels).values(), expected, strict=True):
        assert found.tolist() == values.tolist()
