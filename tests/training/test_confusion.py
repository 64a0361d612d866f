"""The most confused pairs of classes."""

import numpy as np

from salience.scores.metrics import ConfusedPair, confused_pairs


def test_the_largest_come_first_and_right_predictions_are_none():
    confusion = np.array([[9, 2, 0], [4, 1, 2], [0, 0, 7]])
    assert confused_pairs(confusion, 2) == [ConfusedPair(1, 0, 4, 7), ConfusedPair(0, 1, 2, 11)]
    assert confused_pairs(confusion, 9)[2:] == [ConfusedPair(1, 2, 2, 7)]
    assert confused_pairs(np.diag([3, 4]), 3) == []
