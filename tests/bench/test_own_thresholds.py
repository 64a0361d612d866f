"""bench/own_thresholds.py: made-up classifiers are as right as is asked, and as sure as they are right."""

import numpy as np
import pytest
from scipy.stats import norm

import own_thresholds


def test_two_classes_have_the_distance_of_the_formula():
    """The difference of both scores is normal with a standard deviation of sqrt 2."""
    assert own_thresholds.distance_of(0.8, 2) == pytest.approx(np.sqrt(2) * norm.ppf(0.8), abs=0.02)


@pytest.mark.parametrize("classes", [2, 6])
def test_probabilities_are_the_shares_of_right_predictions(classes):
    distance = own_thresholds.distance_of(0.8, classes)
    probabilities, labels = own_thresholds.drawn(200_000, classes, distance, np.random.default_rng(5))
    confidence, right = probabilities.max(1), probabilities.argmax(1) == labels
    assert right.mean() == pytest.approx(0.8, abs=0.01)
    for low, high in ((0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
        own = (confidence >= low) & (confidence < high)
        assert right[own].mean() == pytest.approx(confidence[own].mean(), abs=0.01)


def test_a_target_far_below_the_accuracy_decides_every_text_and_one_out_of_reach_none():
    distance = own_thresholds.distance_of(0.95, 2)
    assert own_thresholds.coverages(500, 2, distance, 0.6, draws=3).tolist() == [1, 1, 1]
    assert own_thresholds.coverages(50, 2, distance, 0.99, draws=3).tolist() == [0, 0, 0]
