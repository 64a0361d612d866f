"""Temperature scaling where a text can have several labels: sigmoid(logit / T) with one T for all labels.

As `salience.training.temperature`, with the log loss of binary decisions. T leaves every decision at 0.5 as it is.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit

from salience.training.label_metrics import label_calibration_error
from salience.training.temperature import LIMITS, scaled_by_halves

LEAST_PROBABILITY = float(np.finfo(np.float32).tiny)


def logits_of(probabilities: np.ndarray) -> np.ndarray:
    """ln p - ln (1 - p) (N, C) in float64. Probabilities of 0 and 1 count as the nearest other ones in float32."""
    clipped = np.clip(probabilities.astype(np.float64), LEAST_PROBABILITY, 1 - 2.0**-24)
    return np.log(clipped) - np.log1p(-clipped)


def label_temperature(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """The T that minimises the log loss of probabilities (N, C) with labels (N, C), 0 and 1; 1 if all are right."""
    if ((probabilities >= 0.5) == labels).all():
        return 1.0
    signed = np.where(labels == 1, 1, -1) * logits_of(probabilities)

    def log_loss(log_temperature: float) -> float:
        return -float(log_expit(signed / np.exp(log_temperature)).mean())

    found = minimize_scalar(log_loss, bounds=np.log(LIMITS), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(min((*np.log(LIMITS), found.x), key=log_loss)))


def with_label_temperature(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """sigmoid(logit / T), of the same shape (N, C) and type.

    Args:
        probabilities: (N, C).
        temperature: T, above 0.
    """
    return expit(logits_of(probabilities) / temperature).astype(probabilities.dtype)


def label_temperature_scores(
    validation: np.ndarray, validation_labels: np.ndarray, test: np.ndarray, labels: np.ndarray
) -> dict[str, float | None]:
    """As `salience.training.temperature.temperature_scores`, of labels (V, C) and (N, C)."""
    temperature = label_temperature(validation, validation_labels)
    return {"temperature": temperature} | errors(test, with_label_temperature(test, temperature), labels)


def label_cross_fitted(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> dict[str, float | None]:
    """As `salience.training.temperature.cross_fitted`, of labels (N, C)."""
    scaled = label_cross_scaled(probabilities, labels, groups, seed)
    return {"temperature": label_temperature(probabilities, labels)} | errors(probabilities, scaled, labels)


def label_cross_scaled(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> np.ndarray | None:
    """As `salience.training.temperature.cross_scaled`, of labels (N, C)."""
    return scaled_by_halves(probabilities, labels, groups, seed, label_temperature, with_label_temperature)


def errors(before: np.ndarray, after: np.ndarray | None, labels: np.ndarray) -> dict[str, float | None]:
    """The calibration errors before and after scaling, by the names of `cross_fitted`."""
    found: dict[str, float | None] = {}
    for name, equal_mass in (("calibration_error", False), ("equal_mass_calibration_error", True)):
        found[name] = label_calibration_error(before, labels, equal_mass)
        found[f"{name}_scaled"] = None if after is None else label_calibration_error(after, labels, equal_mass)
    return found
