"""What several seeds say of texts with several labels: worked votes, and reliability counted in a loop."""

from dataclasses import replace

import numpy as np
import pytest

from salience.comparison.predictions import (
    OF_ONE,
    OF_SEVERAL,
    chosen_labels,
    contested_labels,
    label_disagreement,
    label_majority,
    label_reliability,
    label_votes,
    set_in_words,
    summing_up,
)
from salience.explainers.explanation import Explanation, as_json, explanation_of

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
    assert label_votes(BASELINE).tolist() == [[2, 0, 1], [2, 1, 0], [0, 0, 0]]
    # Half of the seeds give "anger" to the first row, and "fear" to the second: the mean probability is below 0.5.
    assert label_majority(BASELINE).tolist() == [[True, False, False], [True, False, False], [False] * 3]
    higher = np.where(BASELINE == 0.3, 0.45, BASELINE)  # the mean of 0.6 and 0.45 is not
    assert label_majority(higher).tolist()[1] == [True, True, False]
    assert chosen_labels(BASELINE, 0, NAMES) == ("joy", 1)
    assert chosen_labels(OTHER, 0, NAMES) == ("joy, fear", 2)
    assert chosen_labels(BASELINE, 2, NAMES) == ("no label", 2)
    assert set_in_words(np.array([1, 0, 1]), NAMES) == "joy, anger"


def test_disagreement_is_about_majorities_only():
    """Row 0: all seeds differ about "fear". Rows 1 and 2: votes differ, but no majority does."""
    assert label_disagreement(BASELINE, [OTHER]).tolist() == [1.0, 0.0, 0.0]
    assert contested_labels(BASELINE, [OTHER])[0] == 1
    three = np.concatenate([OTHER, OTHER[1:]])
    two_of_three = label_disagreement(np.concatenate([BASELINE, BASELINE[1:]]), [three])
    assert two_of_three.tolist() == [1.0, 0.0, pytest.approx(2 / 3)]  # "anger" in row 2, by two of three seeds


def test_reliability_counts_every_decision_about_a_label():
    generator = np.random.default_rng(0)
    probabilities, labels = generator.random((2, 30, 3)), generator.integers(0, 2, (30, 3))
    pairs = sorted(
        (probabilities[seed, row, label], labels[row, label])
        for seed in range(2) for row in range(30) for label in range(3)
    )  # fmt: skip
    bins = label_reliability(probabilities, labels)
    assert [each.rows for each in bins] == [18] * 10
    for number, each in enumerate(bins):
        of_bin = np.array(pairs[18 * number : 18 * number + 18])
        assert (each.confidence, each.accuracy) == pytest.approx(tuple(of_bin.mean(0)))


def test_the_labels_tell_which_functions_are_meant():
    assert summing_up(np.zeros(3, int)) is OF_ONE and summing_up(np.zeros((3, 2), int)) is OF_SEVERAL
    assert OF_ONE.right(np.int64(1), NAMES) == "fear" and OF_SEVERAL.right(np.array([1, 1, 0]), NAMES) == "joy, fear"
    rows = np.array([[[0.1, 0.9, 0.0]], [[0.6, 0.4, 0.0]], [[0.2, 0.7, 0.1]]])
    assert OF_ONE.chosen(rows, 0, NAMES) == ("fear", 2)


def test_explanations_of_a_decision_about_a_label_are_read_as_they_were_written():
    scores = {"gradient": np.array([0.5, -0.25])}
    written = Explanation(
        ["so", "funny"], None, NAMES, np.array([0.75, 0.5, 0.25]), 2, None, scores, 4, decided=(0, 1), golds=()
    )
    read = explanation_of(as_json(written))
    assert (read.decided, read.golds, read.target, read.gold) == ((0, 1), (), 2, None)
    assert read.predicted == 2 and not read.is_predicted and read.right is True
    unknown = explanation_of(as_json(replace(written, golds=None)))
    assert unknown.golds is None and unknown.decided == (0, 1)
