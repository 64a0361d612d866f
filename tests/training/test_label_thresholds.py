"""Thresholds of labels and their temperature, against exhaustive search."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from salience.scores.calibration import (
    half_of_rows,
    label_cross_fitted,
    label_temperature,
    label_temperature_scores,
    with_label_temperature,
)
from salience.scores.thresholds import (
    best_threshold,
    chosen_decisions,
    cross_decided,
    find_label_thresholds,
)

GENERATOR = np.random.default_rng(1)
LABELS = (GENERATOR.random((200, 3)) < [0.4, 0.15, 0.01]).astype(int)
LABELS[0, 2] = 1
LOGITS = 2 * LABELS - 3 + GENERATOR.normal(size=(200, 3))  # low probabilities: 0.5 is too high
PROBABILITIES = (1 / (1 + np.exp(-LOGITS))).astype(np.float32)


@pytest.mark.parametrize("label", [0, 1])
def test_no_other_threshold_has_a_higher_f1(label):
    own, labels = PROBABILITIES[:, label], LABELS[:, label]
    found = f1_score(labels, own >= best_threshold(own, labels))
    every = max(f1_score(labels, own >= each, zero_division=0) for each in np.linspace(0, 1, 2001))
    assert found == pytest.approx(every) and found > f1_score(labels, own >= 0.5)


def test_worked_numbers():
    """F1 is 1 between 0.3 and 0.6, and with equal probabilities all of them are predicted together."""
    assert best_threshold(np.array([0.9, 0.6, 0.3]), np.array([1, 1, 0])) == pytest.approx(0.45)
    assert best_threshold(np.array([0.7, 0.7, 0.1]), np.array([1, 0, 0])) == pytest.approx(0.4)


def test_a_label_with_few_rows_keeps_one_half():
    thresholds = find_label_thresholds(PROBABILITIES, LABELS)
    assert LABELS[:, 2].sum() < 5 and thresholds[2] == 0.5 and (thresholds[:2] < 0.5).all()


def test_no_row_decides_itself():
    decided = cross_decided(PROBABILITIES, LABELS, None, seed=4)
    first = half_of_rows(200, 4)
    for rows in (first, ~first):
        thresholds = find_label_thresholds(PROBABILITIES[~rows], LABELS[~rows])
        assert (decided[rows] == (PROBABILITIES[rows] >= thresholds)).all()


def test_thresholds_are_used_only_where_they_help():
    decided, helps = chosen_decisions(PROBABILITIES, LABELS)
    assert helps and (decided == cross_decided(PROBABILITIES, LABELS)).all()
    certain = np.where(LABELS == 1, 0.9, 0.1)
    decided, helps = chosen_decisions(certain, LABELS)  # nothing can be better than 0.5
    assert not helps and (decided == (LABELS == 1)).all()


def test_the_temperature_minimises_the_log_loss():
    too_sure = (1 / (1 + np.exp(-3 * LOGITS))).astype(np.float64)
    found = label_temperature(too_sure, LABELS)

    def log_loss(temperature: float) -> float:
        p = 1 / (1 + np.exp(-3 * LOGITS / temperature))
        return -np.log(np.clip(np.where(LABELS == 1, p, 1 - p), 1e-300, 1)).mean()

    grid = np.exp(np.linspace(np.log(0.05), np.log(20), 4000))
    assert found == pytest.approx(grid[np.argmin([log_loss(each) for each in grid])], rel=2e-3)
    scaled = with_label_temperature(too_sure, found)
    assert scaled == pytest.approx(1 / (1 + np.exp(-3 * LOGITS / found)), abs=1e-6)
    assert ((scaled >= 0.5) == (too_sure >= 0.5)).all()


def test_where_all_decisions_are_right_the_temperature_is_1():
    assert label_temperature(np.where(LABELS == 1, 0.9, 0.2), LABELS) == 1


def test_the_names_of_the_errors_are_those_of_one_label():
    names = {f"{each}calibration_error{end}" for each in ("", "equal_mass_") for end in ("", "_scaled")}
    fitted = label_cross_fitted(PROBABILITIES, LABELS)
    assert (
        set(fitted)
        == names | {"temperature"}
        == set(label_temperature_scores(PROBABILITIES, LABELS, PROBABILITIES, LABELS))
    )
    assert label_cross_fitted(PROBABILITIES[:1], LABELS[:1])["calibration_error_scaled"] is None
