"""What predictions of several seeds say together, against slow loops, scikit-learn and a worked example."""

from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from salience.comparison.predictions import disagreement, majority, mean_confusion, reliability, votes
from salience.scores.metrics import equal_mass_calibration_error

SEEDS, ROWS, CLASSES = 4, 57, 3


@pytest.fixture
def drawn():
    """Probabilities of seeds (S, N, C) and labels (N,)."""
    random = np.random.default_rng(1)
    return random.dirichlet([0.6] * CLASSES, (SEEDS, ROWS)), random.integers(0, CLASSES, ROWS)


def one_hot(*classes):
    """Probabilities (S, 1, C) of seeds that predict these classes for one row."""
    return np.array([[0.8 * np.eye(CLASSES)[each] + 0.2 / CLASSES] for each in classes])


def test_bins_of_reliability(drawn):
    """Sorted by confidence and cut into tenths by hand; their gaps are the calibration error."""
    probabilities, labels = drawn
    flat = sorted(
        (float(probabilities[seed, row].max()), int(probabilities[seed, row].argmax()) == labels[row])
        for seed in range(SEEDS) for row in range(ROWS)
    )  # fmt: skip
    found = reliability(probabilities, labels)
    assert sum(each.rows for each in found) == SEEDS * ROWS
    assert {each.rows for each in found} <= {22, 23, 24}  # 228 predictions
    start = 0
    for each in found:
        part = flat[start : start + each.rows]
        assert each.confidence == pytest.approx(sum(confidence for confidence, _ in part) / len(part))
        assert each.accuracy == pytest.approx(sum(right for _, right in part) / len(part))
        start += each.rows
    error = sum(each.rows * abs(each.accuracy - each.confidence) for each in found) / len(flat)
    pooled = probabilities.reshape(-1, CLASSES), np.tile(labels, SEEDS)
    assert error == pytest.approx(equal_mass_calibration_error(*pooled, bins=10))


def test_equal_confidences_are_one_bin():
    (only,) = reliability(one_hot(0, 0, 1), np.array([0]))
    assert (only.rows, only.accuracy) == (3, pytest.approx(2 / 3))


def test_confusions_are_means_over_seeds(drawn):
    probabilities, labels = drawn
    expected = sum(confusion_matrix(labels, each.argmax(1), labels=range(CLASSES)) for each in probabilities) / SEEDS
    assert np.array_equal(mean_confusion(probabilities, labels), expected)


def test_votes_and_majority(drawn):
    probabilities, _ = drawn
    counts, chosen = votes(probabilities), majority(probabilities)
    for row in range(ROWS):
        by_seed = Counter(int(each.argmax()) for each in probabilities[:, row])
        assert counts[row].tolist() == [by_seed[number] for number in range(CLASSES)]
        assert by_seed[int(chosen[row])] == max(by_seed.values())


def test_a_tie_goes_to_the_higher_mean_probability():
    tied = np.array([[[0.45, 0.4, 0.15]], [[0.1, 0.9, 0.0]]])
    assert majority(tied).tolist() == [1]
    assert majority(tied[:, :, ::-1]).tolist() == [1]


def test_disagreement_by_hand():
    """Seeds 0, 0, 0 against 1, 1, 0: two thirds of the votes differ; against 0, 0, 1 the majority is the same."""
    baseline = one_hot(0, 0, 0)
    assert disagreement(baseline, [one_hot(0, 0, 1)]).tolist() == [0]
    assert disagreement(baseline, [one_hot(0, 0, 1), one_hot(1, 1, 0)]) == pytest.approx([2 / 3])
    assert disagreement(baseline, [one_hot(1, 1, 0), one_hot(2, 2, 2)]).tolist() == [1]
    assert disagreement(baseline, []).tolist() == [0]
