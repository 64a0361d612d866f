"""Temperature scaling against a grid, against an optimiser of torch, and against draws of a known temperature."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from salience.errors import InputError
from salience.scores.calibration import (
    LIMITS,
    fit_temperature,
    label_temperature_of,
    with_label_temperature,
    with_temperature,
)
from salience.scores.labels import ONE_LABEL, SEVERAL_LABELS


def drawn(rows: int, classes: int, temperature: float, seed: int):
    """Logits, and labels drawn from softmax(logits / temperature)."""
    random = np.random.default_rng(seed)
    logits = random.normal(0, 3, (rows, classes))
    probabilities = softmax(logits / temperature, axis=1)
    labels = np.array([random.choice(classes, p=row) for row in probabilities])
    return logits, labels


def log_loss(logits, labels, temperature: float) -> float:
    """By a slow loop over the rows."""
    total = 0.0
    for row, label in zip(logits / temperature, labels, strict=True):
        total += np.log(np.exp(row - row.max()).sum()) + row.max() - row[label]
    return total / len(labels)


@settings(max_examples=5)
@given(st.integers(20, 80), st.integers(2, 5), st.sampled_from([0.3, 1.0, 4.0]), st.integers(0, 1000))
def test_no_point_of_a_fine_grid_is_better(rows, classes, temperature, seed):
    logits, labels = drawn(rows, classes, temperature, seed)
    grid = np.exp(np.linspace(*np.log(LIMITS), 400))
    found = fit_temperature(logits, labels)
    losses = [log_loss(logits, labels, point) for point in grid]
    assert log_loss(logits, labels, found) <= min(losses) + 1e-9
    assert abs(np.log(found) - np.log(grid[np.argmin(losses)])) <= np.log(grid[1] / grid[0])


@pytest.mark.parametrize(("temperature", "seed"), [(0.5, 0), (1.0, 1), (2.5, 2)])
def test_lbfgs_of_torch_finds_the_same(temperature, seed):
    logits, labels = drawn(200, 4, temperature, seed)
    log_temperature = torch.zeros((), dtype=torch.float64, requires_grad=True)
    given_logits, targets = torch.tensor(logits), torch.tensor(labels)
    optimiser = torch.optim.LBFGS([log_temperature], line_search_fn="strong_wolfe", tolerance_change=1e-14)

    def closure():
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(given_logits / log_temperature.exp(), targets)
        loss.backward()
        return loss

    optimiser.step(closure)
    assert fit_temperature(logits, labels) == pytest.approx(log_temperature.exp().item(), rel=1e-4)


def test_a_known_temperature_is_found():
    logits, labels = drawn(20_000, 3, 2.0, 0)
    assert fit_temperature(logits, labels) == pytest.approx(2.0, rel=0.05)


def test_a_worked_temperature():
    """Logits (a, 0), right in 3 of 4 rows: softmax(a / T) = 3/4, so T = a / ln 3."""
    logits = np.tile([2.0, 0.0], (4, 1))
    assert fit_temperature(logits, np.array([0, 0, 0, 1])) == pytest.approx(2 / np.log(3), rel=1e-5)


def test_logits_and_log_probabilities_give_the_same():
    logits, labels = drawn(50, 3, 1.5, 3)
    expected = fit_temperature(logits, labels)
    assert fit_temperature(log_softmax(logits, axis=1), labels) == pytest.approx(expected, rel=1e-5)
    assert fit_temperature(logits + np.arange(50)[:, None], labels) == pytest.approx(expected, rel=1e-5)


def test_the_limits_are_reached():
    right = np.array([[4.0, 0], [0, 2.0]])
    assert fit_temperature(right, np.array([0, 1])) == pytest.approx(LIMITS[0])
    assert fit_temperature(right, np.array([1, 0])) == pytest.approx(LIMITS[1])


def test_a_class_without_probability_leaves_the_fit_finite():
    """Three rows of which one has the probability 0 of its label: without a floor every T would be as bad."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.5, 0.5, 0.0]]))
    temperature = fit_temperature(logs, np.array([0, 1, 2]))
    assert LIMITS[0] <= temperature <= LIMITS[1]
    grid = np.exp(np.linspace(*np.log(LIMITS), 2000))
    floored = np.maximum(logs, np.log(np.finfo(np.float32).tiny))
    losses = [log_loss(floored, [0, 1, 2], point) for point in grid]
    assert temperature == pytest.approx(grid[np.argmin(losses)], rel=0.01)


def test_what_cannot_be_fitted():
    with pytest.raises(InputError, match="no rows to fit a temperature on"):
        fit_temperature(np.zeros((0, 2)), np.zeros(0, int))
    with pytest.raises(InputError, match="NaN"):
        fit_temperature(np.array([[np.nan, 0]]), np.array([0]))


@settings(max_examples=30)
@given(st.integers(1, 30), st.integers(2, 5), st.floats(0.1, 10), st.integers(0, 1000))
def test_probabilities_with_a_temperature(rows, classes, temperature, seed):
    probabilities = np.random.default_rng(seed).dirichlet(np.ones(classes), rows)
    scaled = with_temperature(probabilities, temperature)
    powers = probabilities ** (1 / temperature)
    assert scaled == pytest.approx(powers / powers.sum(1, keepdims=True))
    assert (scaled.argmax(1) == probabilities.argmax(1)).all()
    assert with_temperature(scaled, 1 / temperature) == pytest.approx(probabilities, abs=1e-9)


def test_types_and_noughts_stay():
    probabilities = np.array([[0.75, 0.25, 0], [0, 1, 0]], np.float32)
    scaled = with_temperature(probabilities, 0.5)
    assert scaled.dtype == np.float32
    assert scaled == pytest.approx(np.array([[0.9, 0.1, 0], [0, 1, 0]]))


def test_calibration_before_and_after_uses_the_validation_rows_only():
    """Logits three times too large, in both parts. The labels of the test rows cannot change T."""
    (logits, known), (others, labels) = drawn(2000, 3, 3.0, 0), drawn(3000, 3, 3.0, 1)
    validation, test = softmax(logits, axis=1), softmax(others, axis=1)
    found = ONE_LABEL.temperature_scores(validation, known, test, labels)
    assert found["temperature"] == pytest.approx(fit_temperature(logits, known), rel=1e-4)
    assert found["calibration_error"] == ONE_LABEL.calibration_error(test, labels)
    assert found["equal_mass_calibration_error"] == ONE_LABEL.calibration_error(test, labels, equal_mass=True)
    scaled = softmax(others / found["temperature"], axis=1)
    assert found["calibration_error_scaled"] == pytest.approx(ONE_LABEL.calibration_error(scaled, labels), abs=1e-9)
    assert found["equal_mass_calibration_error_scaled"] == pytest.approx(
        ONE_LABEL.calibration_error(scaled, labels, equal_mass=True)
    )
    assert found["calibration_error_scaled"] < 0.03 < 0.1 < found["calibration_error"]
    assert (
        ONE_LABEL.temperature_scores(validation, known, test, (labels + 1) % 3)["temperature"] == found["temperature"]
    )


def test_the_temperature_of_a_run_is_1_where_all_validation_rows_are_right():
    validation, labels = np.full((20, 2), [0.8, 0.2]), np.zeros(20, int)
    found = ONE_LABEL.temperature_scores(validation, labels, validation, np.arange(20) % 5 // 4)
    assert found["temperature"] == 1 and found["calibration_error_scaled"] == found["calibration_error"]


GENERATOR = np.random.default_rng(1)
LABELS = (GENERATOR.random((200, 3)) < [0.4, 0.15, 0.01]).astype(int)
LABELS[0, 2] = 1
LOGITS = 2 * LABELS - 3 + GENERATOR.normal(size=(200, 3))  # low probabilities: 0.5 is too high
PROBABILITIES = (1 / (1 + np.exp(-LOGITS))).astype(np.float32)


def test_the_temperature_minimises_the_log_loss():
    too_sure = (1 / (1 + np.exp(-3 * LOGITS))).astype(np.float64)
    found = label_temperature_of(too_sure, LABELS)

    def log_loss(temperature: float) -> float:
        p = 1 / (1 + np.exp(-3 * LOGITS / temperature))
        return -np.log(np.clip(np.where(LABELS == 1, p, 1 - p), 1e-300, 1)).mean()

    grid = np.exp(np.linspace(np.log(0.05), np.log(20), 4000))
    assert found == pytest.approx(grid[np.argmin([log_loss(each) for each in grid])], rel=2e-3)
    scaled = with_label_temperature(too_sure, found)
    assert scaled == pytest.approx(1 / (1 + np.exp(-3 * LOGITS / found)), abs=1e-6)
    assert ((scaled >= 0.5) == (too_sure >= 0.5)).all()


def test_where_all_decisions_are_right_the_temperature_is_1():
    assert label_temperature_of(np.where(LABELS == 1, 0.9, 0.2), LABELS) == 1


def test_the_names_of_the_errors_are_those_of_one_label():
    names = {f"{each}calibration_error{end}" for each in ("", "equal_mass_") for end in ("", "_scaled")}
    fitted = SEVERAL_LABELS.cross_fitted(PROBABILITIES, LABELS)
    validated = SEVERAL_LABELS.temperature_scores(PROBABILITIES, LABELS, PROBABILITIES, LABELS)
    assert set(fitted) == names | {"temperature"} == set(validated)
    assert SEVERAL_LABELS.cross_fitted(PROBABILITIES[:1], LABELS[:1])["calibration_error_scaled"] is None
