"""Confident learning: by slow loops from the paper, by cleanlab's answers, and by numbers worked out by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from salience.audit.confident_learning import (
    class_thresholds,
    confident_joint,
    estimated_counts,
    likely_wrong,
    of_each_label,
    wrongness,
)

# Five draws of labels and probabilities, and what cleanlab 2.9.0 says of them: get_confident_thresholds,
# compute_confident_joint(calibrate=True) and find_label_issues. In no draw do two remainders tie, or is the most
# probable class below its threshold where two others are above theirs: there, cleanlab departs from Eq. 1.
CLEANLAB = json.loads((Path(__file__).parent / "cleanlab_answers.json").read_text(encoding="utf-8"))
# Five draws with several labels a row, and cleanlab's find_multilabel_issues_per_class with "prune_by_noise_rate".
SEVERAL = json.loads((Path(__file__).parent / "cleanlab_several_labels.json").read_text(encoding="utf-8"))


def drawn(rows: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    probabilities = draw.dirichlet(np.full(classes, 0.5), rows).astype(np.float32)
    return draw.integers(0, classes, rows), probabilities


def by_loops(labels, probabilities) -> set[int]:
    """Section 3 of the paper, line by line."""
    rows, classes = range(len(labels)), range(len(probabilities[0]))
    thresholds = {}
    for j in classes:
        own = [float(probabilities[x][j]) for x in rows if labels[x] == j]
        thresholds[j] = sum(own) / len(own) if own else float("inf")
    joint = {(i, j): 0 for i in classes for j in classes}
    for x in rows:
        above = [j for j in classes if float(probabilities[x][j]) >= thresholds[j] - 1e-6]
        if above:
            joint[labels[x], max(above, key=lambda j: float(probabilities[x][j]))] += 1
    flagged = set()
    for i in classes:
        joint[i, i] = max(joint[i, i], 1)
        own = [x for x in rows if labels[x] == i]
        total = sum(joint[i, j] for j in classes)
        exact = [joint[i, j] * len(own) / total for j in classes]
        counts = [int(value) for value in exact]
        by_remainder = sorted(classes, key=lambda j: -(joint[i, j] * len(own) % total))
        for j in by_remainder[: len(own) - sum(counts)]:
            counts[j] += 1
        for j in classes:
            if j != i:
                worst = sorted(own, key=lambda x: float(probabilities[x][i] - probabilities[x][j]))
                flagged |= set(worst[: counts[j]])
    return {x for x in flagged if probabilities[x][labels[x]] < max(probabilities[x])}


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("seed", range(5))
def test_the_rows_are_those_of_the_loops(classes, seed):
    labels, probabilities = drawn(100, classes, seed)
    found = set(np.flatnonzero(likely_wrong(labels, probabilities)).tolist())
    assert found == by_loops(labels.tolist(), probabilities)
    assert found


@pytest.mark.parametrize("case", CLEANLAB, ids=lambda case: f"{len(case['labels'])} rows")
def test_the_rows_are_those_of_cleanlab(case):
    labels, probabilities = np.array(case["labels"]), np.array(case["probabilities"])
    np.testing.assert_allclose(class_thresholds(labels, probabilities), case["thresholds"], rtol=1e-12)
    assert estimated_counts(labels, probabilities).tolist() == case["counts"]
    assert np.flatnonzero(likely_wrong(labels, probabilities)).tolist() == case["flagged"]


def test_by_hand():
    labels = np.array([0, 0, 0, 1, 1])
    first = np.array([0.9, 0.8, 0.1, 0.2, 0.3])
    probabilities = np.stack([first, 1 - first], 1)
    np.testing.assert_allclose(class_thresholds(labels, probabilities), [0.6, 0.75])
    # Row 2 is confidently of class 1 and row 4, with 0.7 < 0.75, of none.
    assert confident_joint(labels, probabilities).tolist() == [[2, 1], [0, 1]]
    assert estimated_counts(labels, probabilities).tolist() == [[2, 1], [0, 2]]
    np.testing.assert_allclose(wrongness(labels, probabilities), [-0.8, -0.6, 0.8, -0.6, -0.4])
    assert likely_wrong(labels, probabilities).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("seed", range(5))
def test_each_of_several_labels_is_judged_as_cleanlab_does(seed):
    labels, probabilities, issues = (np.array(SEVERAL[seed][name]) for name in ("labels", "probabilities", "issues"))
    judged = [(number, likely_wrong(given, both)) for number, given, both in of_each_label(labels, probabilities)]
    assert [number for number, _ in judged] == [0, 1, 2]
    for number, wrong in judged:
        assert wrong.tolist() == issues[:, number].astype(bool).tolist() and 0 < wrong.sum() < len(wrong)


def test_counts_keep_the_number_of_rows_of_every_label():
    labels, probabilities = drawn(500, 9, 3)
    assert estimated_counts(labels, probabilities).sum(1).tolist() == np.bincount(labels, minlength=9).tolist()


def test_a_model_that_says_the_same_of_all_rows_flags_none_of_the_most_frequent_class():
    labels = np.array([0] * 6 + [1] * 3)
    probabilities = np.tile(np.float32([0.7, 0.3]), (9, 1))
    assert not likely_wrong(labels, probabilities)[:6].any()


def test_a_class_without_rows_is_nobodys_suggestion():
    labels = np.array([0, 0, 1, 1])
    probabilities = np.array([[0.1, 0.2, 0.7], [0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.2, 0.7, 0.1]])
    assert class_thresholds(labels, probabilities)[2] == np.inf
    assert confident_joint(labels, probabilities)[:, 2].tolist() == [0, 0, 1]
    assert estimated_counts(labels, probabilities)[2].tolist() == [0, 0, 0]
    assert not likely_wrong(labels, probabilities).any()


def test_perfect_predictions_flag_nothing():
    labels = np.arange(30) % 3
    assert not likely_wrong(labels, np.eye(3)[labels]).any()
