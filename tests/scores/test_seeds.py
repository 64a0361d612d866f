"""What the predictions of several seeds say together: worked votes, and reliability counted in loops."""

from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from salience.scores.labels import ONE_LABEL, SEVERAL_LABELS
from salience.scores.metrics import calibration_error

NAMES = ["joy", "fear", "anger"]
# Two seeds, three rows, three labels.
BASELINE = np.array([
    [[0.9, 0.1, 0.2], [0.9, 0.6, 0.1], [0.1, 0.2, 0.3]],
    [[0.8, 0.2, 0.7], [0.8, 0.3, 0.1], [0.2, 0.1, 0.2]],
])  # fmt: skip
OTHER = np.array([
    [[0.9, 0.8, 0.2], [0.9, 0.2, 0.1], [0.1, 0.2, 0.3]],
    [[0.8, 0.9, 0.1], [0.8, 0.3, 0.1], [0.2, 0.1, 0.6]],
])  # fmt: skip


def test_votes_and_majorities():
    assert SEVERAL_LABELS.votes(BASELINE).tolist() == [[2, 0, 1], [2, 1, 0], [0, 0, 0]]
    # Half of the seeds give "anger" to the first row, and "fear" to the second: the mean probability is below 0.5.
    assert SEVERAL_LABELS.majority(BASELINE).tolist() == [[True, False, False], [True, False, False], [False] * 3]
    higher = np.where(BASELINE == 0.3, 0.45, BASELINE)  # the mean of 0.6 and 0.45 is not
    assert SEVERAL_LABELS.majority(higher).tolist()[1] == [True, True, False]
    assert SEVERAL_LABELS.chosen(BASELINE, 0, NAMES) == ("joy", 1)
    assert SEVERAL_LABELS.chosen(OTHER, 0, NAMES) == ("joy, fear", 2)
    assert SEVERAL_LABELS.chosen(BASELINE, 2, NAMES) == ("no label", 2)
    assert SEVERAL_LABELS.in_words(np.array([1, 0, 1]), NAMES) == "joy, anger"


def test_disagreement_is_about_majorities_only():
    """Row 0: all seeds differ about "fear". Rows 1 and 2: votes differ, but no majority does."""
    assert SEVERAL_LABELS.disagreement(BASELINE, [OTHER]).max(1).tolist() == [1.0, 0.0, 0.0]
    assert SEVERAL_LABELS.disagreement(BASELINE, [OTHER]).argmax(1)[0] == 1
    three = np.concatenate([OTHER, OTHER[1:]])
    two_of_three = SEVERAL_LABELS.disagreement(np.concatenate([BASELINE, BASELINE[1:]]), [three]).max(1)
    assert two_of_three.tolist() == [1.0, 0.0, pytest.approx(2 / 3)]  # "anger" in row 2, by two of three seeds


def test_reliability_counts_every_decision_about_a_label():
    generator = np.random.default_rng(0)
    probabilities, labels = generator.random((2, 30, 3)), generator.integers(0, 2, (30, 3))
    pairs = sorted(
        (probabilities[seed, row, label], labels[row, label])
        for seed in range(2) for row in range(30) for label in range(3)
    )  # fmt: skip
    bins = SEVERAL_LABELS.reliability(probabilities, labels)
    assert [each.rows for each in bins] == [18] * 10
    for number, each in enumerate(bins):
        of_bin = np.array(pairs[18 * number : 18 * number + 18])
        assert (each.confidence, each.accuracy) == pytest.approx(tuple(of_bin.mean(0)))


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
    found = ONE_LABEL.reliability(probabilities, labels)
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
    assert error == pytest.approx(calibration_error(*ONE_LABEL.judged(*pooled), equal_mass=True, bins=10))


def test_equal_confidences_are_one_bin():
    (only,) = ONE_LABEL.reliability(one_hot(0, 0, 1), np.array([0]))
    assert (only.rows, only.accuracy) == (3, pytest.approx(2 / 3))


def test_confusions_are_means_over_seeds(drawn):
    probabilities, labels = drawn
    expected = sum(confusion_matrix(labels, each.argmax(1), labels=range(CLASSES)) for each in probabilities) / SEEDS
    assert np.array_equal(ONE_LABEL.confusion(probabilities, labels), expected)


def test_votes_and_majority(drawn):
    probabilities, _ = drawn
    counts, chosen = ONE_LABEL.votes(probabilities), ONE_LABEL.majority(probabilities).argmax(1)
    for row in range(ROWS):
        by_seed = Counter(int(each.argmax()) for each in probabilities[:, row])
        assert counts[row].tolist() == [by_seed[number] for number in range(CLASSES)]
        assert by_seed[int(chosen[row])] == max(by_seed.values())


def test_a_tie_goes_to_the_higher_mean_probability():
    tied = np.array([[[0.45, 0.4, 0.15]], [[0.1, 0.9, 0.0]]])
    assert ONE_LABEL.majority(tied).argmax(1).tolist() == [1]
    assert ONE_LABEL.majority(tied[:, :, ::-1]).argmax(1).tolist() == [1]


def test_disagreement_by_hand():
    """Seeds 0, 0, 0 against 1, 1, 0: two thirds of the votes differ; against 0, 0, 1 the majority is the same."""
    baseline = one_hot(0, 0, 0)
    assert ONE_LABEL.disagreement(baseline, [one_hot(0, 0, 1)])[:, 0].tolist() == [0]
    assert ONE_LABEL.disagreement(baseline, [one_hot(0, 0, 1), one_hot(1, 1, 0)])[:, 0] == pytest.approx([2 / 3])
    assert ONE_LABEL.disagreement(baseline, [one_hot(1, 1, 0), one_hot(2, 2, 2)])[:, 0].tolist() == [1]
    assert ONE_LABEL.disagreement(baseline, [])[:, 0].tolist() == [0]


def test_what_is_chosen_is_told_in_words():
    names = ["joy", "fear", "anger"]
    rows = np.array([[[0.1, 0.9, 0.0]], [[0.6, 0.4, 0.0]], [[0.2, 0.7, 0.1]]])
    assert ONE_LABEL.chosen(rows, 0, names) == ("fear", 2)
    assert ONE_LABEL.in_words(ONE_LABEL.right(np.array([1]), 3)[0], names) == "fear"
