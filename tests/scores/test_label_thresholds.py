"""Thresholds of labels where a text can have several: the best F1, and a target precision; against slow loops."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import f1_score, precision_score, recall_score

from salience.data.texts import Texts
from salience.errors import InputError
from salience.runs.sentences import precision_sentences
from salience.scores.calibration import half_of_rows
from salience.scores.labels import SEVERAL_LABELS
from salience.scores.thresholds import (
    best_threshold,
    chosen_decisions,
    cross_thresholds,
    decided_at,
    find_label_thresholds,
    precision_numbers,
    precision_thresholds,
    reachable_precisions,
)
from salience.training.estimate import Folds, check_target


def slow_decisions(probabilities: list[float], labels: list[int], target: float, error: float) -> list[bool]:
    """By the words: each probability as a threshold, from the highest down, with scipy's exact test."""
    found, least = 2.0, sum(value >= 0.5 for value in probabilities) / 4
    for threshold in sorted(set(probabilities), reverse=True):
        right = [label for value, label in zip(probabilities, labels, strict=True) if value >= threshold]
        if len(right) < least or target ** len(right) > error:
            continue
        if binomtest(sum(right), len(right), target, alternative="greater").pvalue > error:
            break
        found = threshold
    return [value >= found for value in probabilities]


@pytest.mark.parametrize("seed", range(12))
def test_against_a_slow_loop(seed):
    digits = (1, 2, 8)[seed % 3]
    random = np.random.default_rng(seed)
    probabilities = random.beta(1, 1.5, size=random.integers(20, 400)).round(digits).astype(np.float32)
    labels = (random.random(len(probabilities)) < probabilities**0.5).astype(int)
    target = random.choice([0.6, 0.75, 0.9])
    (threshold,) = precision_thresholds(probabilities[:, None], labels[:, None], target)
    written = json.loads(json.dumps({"threshold": float(threshold)}))["threshold"]  # as config.json has it
    decided = decided_at(probabilities[:, None], np.array([written]))[:, 0]
    assert decided.tolist() == slow_decisions(probabilities.tolist(), labels.tolist(), target, 0.05)


def test_a_threshold_can_be_below_one_half():
    """The classifier is not confident enough: all texts above 0.2 have the label."""
    probabilities = np.linspace(0.01, 0.6, 300)
    own = probabilities[:, None]
    (threshold,) = precision_thresholds(own, (own > 0.2).astype(int), 0.9)
    assert 0.15 < threshold < 0.2


def test_the_certainty_of_all_labels_together():
    """Of each of four labels 79 % are right, at any threshold: none may be predicted for a precision of 0.8."""
    random, failures = np.random.default_rng(0), 0
    for _ in range(400):
        labels = (random.random((200, 4)) < 0.79).astype(int)
        failures += (precision_thresholds(random.random((200, 4)), labels, 0.8) < 1).any()
    assert failures / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


PROBABILITIES = np.random.default_rng(3).random((600, 3)).astype(np.float32)
LABELS = (np.random.default_rng(4).random((600, 3)) < PROBABILITIES * [1.0, 1.0, 0.3]).astype(int)


def test_numbers_are_those_of_scikit_learn_and_say_what_is_out_of_reach():
    thresholds = precision_thresholds(PROBABILITIES, LABELS, 0.8)
    assert (thresholds[:2] < 1).all() and thresholds[2] == 1
    found = precision_numbers(PROBABILITIES, LABELS, thresholds, ["joy", "fear", "a\x1bb"], 0.8)
    for number, name in enumerate(("joy", "fear")):
        decided = PROBABILITIES[:, number] >= thresholds[number]
        each = found["labels"][name]
        assert each["precision"] == precision_score(LABELS[:, number], decided) >= 0.8
        assert each["recall"] == recall_score(LABELS[:, number], decided)
        assert each["precision_interval"][0] < each["precision"] < each["precision_interval"][1]
        assert "reachable" not in each
    never = found["labels"]["a\x1bb"]
    assert (never["predicted"], never["precision"], never["recall"], never["reachable"]) == (0, None, 0, None)
    first, second = precision_sentences({"estimate": {"label_precision": found}})
    assert "2 of 3 labels reach it (95 % certainty on 600 rows" in first
    assert second.startswith("never predicted, because a precision of 0.8 is out of reach: ") and "\x1b" not in second
    assert "(not even 0.5)" in second and precision_sentences({"estimate": {}}) == precision_sentences({}) == []


def test_what_is_reachable_is_the_highest_precision_that_passes():
    found = reachable_precisions(PROBABILITIES, LABELS, 0.99)
    for number in (0, 1):
        assert precision_thresholds(PROBABILITIES, LABELS, found[number])[number] < 1
        assert precision_thresholds(PROBABILITIES, LABELS, found[number] + 0.01)[number] == 1
    assert found[2] is None


def test_a_label_whose_threshold_is_1_is_never_predicted():
    """A sigmoid is 1 in floating point from a logit of 17 on."""
    decided = SEVERAL_LABELS.decisions(np.ones((1, 2), np.float32), np.array([1.0, 0.999]))
    assert decided.tolist() == [[False, True]]


@pytest.mark.parametrize(("groups", "unit", "count"), [(None, "rows", 24), (np.arange(60) // 2, "groups", 12)])
def test_the_most_frequent_label_must_have_enough_rows(groups, unit, count):
    """0.05 / 2 is the error of each of two labels: 0.9^36 is above 0.025 before 0.9^36 = 0.0225."""
    assert 0.9**36 <= 0.025 < 0.9**35
    labels = np.zeros((60, 2), int)
    labels[:24, 0] = labels[:10, 1] = 1
    folds = Folds("folds:2", Texts(["text"] * 60, None, labels), np.arange(60) % 2 + 1, groups)
    highest = math.floor(100 * 0.025 ** (1 / count)) / 100
    message = rf"0.9 needs at least 36 {unit} of a label .* the most frequent label has {count}: give {highest:g} or"
    with pytest.raises(InputError, match=message):
        check_target(0.9, folds)
    check_target(highest, folds)


DRAWN = np.random.default_rng(1)
OWN = (DRAWN.random((200, 3)) < [0.4, 0.15, 0.01]).astype(int)
OWN[0, 2] = 1
LOGITS = 2 * OWN - 3 + DRAWN.normal(size=(200, 3))  # low probabilities: 0.5 is too high
LOW = (1 / (1 + np.exp(-LOGITS))).astype(np.float32)


@pytest.mark.parametrize("label", [0, 1])
def test_no_other_threshold_has_a_higher_f1(label):
    own, labels = LOW[:, label], OWN[:, label]
    every = [
        2 * (labels * (own >= each)).sum() / (labels.sum() + (own >= each).sum()) for each in np.linspace(0, 1, 2001)
    ]
    found = f1_score(labels, own >= best_threshold(own, labels))
    assert found == pytest.approx(max(every)) and found > f1_score(labels, own >= 0.5)


def test_worked_numbers():
    """F1 is 1 between 0.3 and 0.6, and with equal probabilities all of them are predicted together."""
    assert best_threshold(np.array([0.9, 0.6, 0.3]), np.array([1, 1, 0])) == pytest.approx(0.45)
    assert best_threshold(np.array([0.7, 0.7, 0.1]), np.array([1, 0, 0])) == pytest.approx(0.4)


def test_a_label_with_few_rows_keeps_one_half():
    thresholds = find_label_thresholds(LOW, OWN)
    assert OWN[:, 2].sum() < 5 and thresholds[2] == 0.5 and (thresholds[:2] < 0.5).all()


def test_no_row_decides_itself():
    decided = cross_thresholds(LOW, OWN, None, seed=4) <= LOW
    first = half_of_rows(200, 4)
    for rows in (first, ~first):
        thresholds = find_label_thresholds(LOW[~rows], OWN[~rows])
        assert (decided[rows] == (LOW[rows] >= thresholds)).all()


def test_thresholds_are_used_only_where_they_help():
    decided, helps = chosen_decisions(LOW, OWN)
    assert helps and (decided == (cross_thresholds(LOW, OWN) <= LOW)).all()
    certain = np.where(OWN == 1, 0.9, 0.1)
    decided, helps = chosen_decisions(certain, OWN)  # nothing can be better than 0.5
    assert not helps and (decided == (OWN == 1)).all()
