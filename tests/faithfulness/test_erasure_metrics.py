"""The worked numbers of the metrics, and what must hold of them whatever the scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from salience.faithfulness.erasing import Curve
from salience.faithfulness.metrics import (
    accuracy_drop,
    agreement,
    detection,
    flips_after,
    interval,
    mean_accuracy_drop,
    post_hoc_accuracy,
    probability_drop,
)


def curve_of(predictions, labels, classes=2) -> Curve:
    """A curve whose judge is wholly sure of what it predicts."""
    return Curve(np.eye(classes)[np.asarray(predictions)], np.asarray(labels))


def test_aopc_is_the_accuracy_that_is_lost_in_points():
    curve = curve_of([[1, 0, 1, 0], [0, 0, 1, 0]], [1, 0, 1, 1])
    assert 100 * accuracy_drop(curve, 1).mean() == 25.0


def test_the_mean_over_k_counts_k_0():
    """Accuracies .75, .5 and .25 for K = 0, 1, 2."""
    curve = curve_of([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]], [1, 1, 1, 1])
    assert mean_accuracy_drop(curve).mean() == pytest.approx(0.25)


def test_the_probability_form():
    """p = .9, .6, .3 of the class that was predicted."""
    probabilities = np.array([[[0.1, 0.9]], [[0.4, 0.6]], [[0.7, 0.3]]])
    assert probability_drop(Curve(probabilities, np.array([0]))).tolist() == pytest.approx([0.3])


def test_nothing_is_lost_by_taking_nothing_or_from_a_judge_that_never_changes():
    curve = curve_of([[1, 0, 1]] * 4, [1, 1, 0])
    assert (accuracy_drop(curve, 0) == 0).all()
    for drop in (accuracy_drop(curve, 3), mean_accuracy_drop(curve), probability_drop(curve)):
        assert (drop == 0).all()
    assert np.isinf(flips_after(curve)).all()


def test_flips_are_counted_to_the_first_one():
    curve = curve_of([[1, 0, 1], [1, 1, 1], [0, 0, 1]], [1, 0, 0])
    assert flips_after(curve).tolist() == [2, 1, np.inf]


def test_post_hoc_accuracy_is_that_on_the_top_words():
    curve = curve_of([[1, 1], [0, 1], [1, 1]], [1, 1])
    assert [post_hoc_accuracy(curve, count).mean() for count in (0, 1, 2)] == [1, 0.5, 1]


def test_detection_is_a_mean_of_texts():
    """Marked {1, 3} with the first word found right, and {0} with the first wrong."""
    scores = [np.array([0.0, 9, 1, 2]), np.array([0.0, 0, 5])]
    precision, recall, f1 = detection(scores, [[1, 3], [0]], 1)
    assert (precision.mean(), recall.mean()) == (0.5, 0.25)
    assert f1.mean() == pytest.approx(1 / 3)


def test_detection_leaves_out_texts_in_which_nothing_is_marked_and_counts_no_word_twice():
    precision, recall, f1 = detection([np.array([3.0, 1]), np.array([1.0])], [[0, 0], []], 5)
    assert (precision.tolist(), recall.tolist()) == ([0.5], [1.0])
    assert f1.tolist() == pytest.approx([2 / 3])


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=8), min_size=1, max_size=6), st.integers(1, 5), st.data()
)
def test_detection_against_a_loop(scores, count, data):
    marked = [data.draw(st.sets(st.integers(0, len(own) - 1))) for own in scores]
    expected = []
    for own, gold in zip(scores, marked, strict=True):
        if gold:
            order = sorted(range(len(own)), key=lambda place: (-own[place], place))[:count]
            right = sum(place in gold for place in order)
            precision, recall = right / min(count, len(own)), right / len(gold)
            expected.append((precision, recall, 2 * precision * recall / (precision + recall) if right else 0))
    found = detection([np.array(own) for own in scores], [sorted(gold) for gold in marked], count)
    assert pytest.approx(np.array(expected).reshape(-1, 3)) == np.array(found).T


def test_agreement_is_scipys_tau_and_unknown_without_an_order():
    first, second = np.array([0.1, 0.5, 0.2, 0.9]), np.array([1.0, 2, 3, 4])
    found = agreement([first, first, np.array([1.0])], [second, np.ones(4), np.array([2.0])])
    assert found[0] == pytest.approx(kendalltau(first, second).statistic)
    assert np.isnan(found[1:]).all()


def test_the_interval_holds_the_mean_and_shrinks_with_more_texts():
    few, many = np.tile([0.0, 1.0], 20), np.tile([0.0, 1.0], 2000)
    low, high = interval(few)
    assert low < 0.5 < high
    assert interval(many)[1] - interval(many)[0] < 0.2 * (high - low)
    # 1.96 standard errors, by theory
    assert high - low == pytest.approx(2 * 1.96 * 0.5 / len(few) ** 0.5, rel=0.15)


def test_an_interval_of_equal_values_is_a_point_and_unknown_values_are_left_out():
    assert interval(np.array([0.25, np.nan, 0.25, np.inf])) == (0.25, 0.25)
    assert np.isnan(interval(np.array([np.nan]))).all()
