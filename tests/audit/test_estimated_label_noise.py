"""Which labels are mistaken for which, by hand."""

import numpy as np
import pytest

from salience.audit.label_noise import most_mistaken, share_of_wrong


def test_classes_are_given_and_true():
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
