"""Temperature scaling (Guo et al., 2017, arXiv:1706.04599, Sec. 4.2): one number that calibrates probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_softmax, softmax

from salience.errors import InputError
from salience.scores.label_metrics import label_calibration_error
from salience.scores.metrics import calibration_error, equal_mass_calibration_error

LIMITS = (0.05, 20.0)  # of T. Without them T would be 0 where all rows are right, and infinite for answers of chance.
# A class without any probability would give every T an infinite loss; this is the lowest log probability in float32.
LOWEST = float(np.log(np.finfo(np.float32).tiny))


def fit_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """The temperature T that minimises the log loss of softmax(logits / T).

    The loss is convex in 1 / T, so it has one minimum in log T, along which it is searched between `LIMITS`. T is the
    lower limit if every row is right, and the upper one if the logits say nothing about the labels or are misleading.

    Args:
        logits: (N, C) logits, or log probabilities, which give the same T. A log probability below `LOWEST` (-87)
            counts as that.
        labels: (N,), class numbers. These rows must be others than those that are scored with T.

    Raises:
        InputError: there are no rows, or a logit is not a number.
    """
    if not len(logits):
        raise InputError("there are no rows to fit a temperature on: give labelled validation rows")
    if np.isnan(logits).any():
        raise InputError("a logit is not a number (NaN), so no temperature can be fitted: check the model's outputs")
    log_probabilities = np.maximum(log_softmax(np.asarray(logits, np.float64), axis=1), LOWEST)
    rows = np.arange(len(labels))

    def log_loss(log_temperature: float) -> float:
        return -float(log_softmax(log_probabilities / np.exp(log_temperature), axis=1)[rows, labels].mean())

    found = minimize_scalar(log_loss, bounds=np.log(LIMITS), method="bounded", options={"xatol": 1e-6})
    # The search does not try the limits themselves. They come first: a loss can be 0 in floating point before them.
    return float(np.exp(min((*np.log(LIMITS), found.x), key=log_loss)))


def with_temperature(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """The probabilities softmax(log p / T) = p^(1/T) / sum p^(1/T), of the same shape and type.

    T above 1 makes them more even, T below 1 more extreme. Predicted classes stay the same, and so do probabilities
    of 0.

    Args:
        probabilities: (N, C).
        temperature: T, above 0.
    """
    with np.errstate(divide="ignore"):  # log 0 is -inf, whose softmax is 0
        scaled = softmax(np.log(np.asarray(probabilities, np.float64)) / temperature, axis=1)
    return scaled.astype(probabilities.dtype)


def temperature_scores(
    validation: np.ndarray, validation_labels: np.ndarray, test: np.ndarray, labels: np.ndarray
) -> dict[str, float]:
    """The temperature of a run, and its calibration errors on the test rows before and after.

    T is fitted on the validation rows, and no test row has a part in it. In a run, the same validation rows have
    chosen the checkpoint, on which probabilities can be better than on new rows; this can make T a little too small,
    and the error after it too large, not too small.

    Args:
        validation: (V, C) probabilities of the validation rows.
        validation_labels: (V,) their class numbers.
        test: (N, C) probabilities of the test rows.
        labels: (N,) their class numbers.

    Returns:
        "temperature", and "calibration_error" and "equal_mass_calibration_error", each also with "_scaled" appended,
        after temperature scaling.

    Raises:
        InputError: there are no validation rows.
    """
    temperature = temperature_of(validation, validation_labels)
    scaled = with_temperature(test, temperature)
    return {
        "temperature": temperature,
        "calibration_error": calibration_error(test, labels),
        "calibration_error_scaled": calibration_error(scaled, labels),
        "equal_mass_calibration_error": equal_mass_calibration_error(test, labels),
        "equal_mass_calibration_error_scaled": equal_mass_calibration_error(scaled, labels),
    }


def cross_fitted(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> dict[str, float | None]:
    """The temperature of some rows, and the calibration errors before and after scaling, without further rows.

    The errors after scaling are cross-fitted: each half of the rows is scaled by the temperature of the other half.

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.
        groups: (N,) the group of each row, which is in one half; None for rows that are independent.
        seed: of the halves.

    Returns:
        "temperature", fitted on all rows; "calibration_error" and "equal_mass_calibration_error", each also with
        "_scaled" appended, after scaling; these are None if there is a single row or group.
    """
    scaled = cross_scaled(probabilities, labels, groups, seed)
    found: dict[str, float | None] = {"temperature": temperature_of(probabilities, labels)}
    for name, error in (
        ("calibration_error", calibration_error), ("equal_mass_calibration_error", equal_mass_calibration_error)
    ):  # fmt: skip
        found[name] = error(probabilities, labels)
        found[f"{name}_scaled"] = None if scaled is None else error(scaled, labels)
    return found


def cross_scaled(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> np.ndarray | None:
    """The probabilities (N, C), each half of the rows scaled by the temperature of the other half.

    Args:
        probabilities, labels, groups, seed: as of `cross_fitted`.

    Returns:
        None if there is a single row or group.
    """
    return scaled_by_halves(probabilities, labels, groups, seed, temperature_of, with_temperature)


def scaled_by_halves(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None, seed: int,
    temperature: Callable[[np.ndarray, np.ndarray], float], scale: Callable[[np.ndarray, float], np.ndarray],
) -> np.ndarray | None:  # fmt: skip
    """As `cross_scaled`, also of labels (N, C).

    Args:
        temperature: fits a temperature on probabilities and labels.
        scale: gives probabilities with a temperature.
    """
    first = half_of_rows(len(labels) if groups is None else groups, seed)
    if not first.any():
        return None
    scaled = probabilities.copy()
    for rows in (first, ~first):
        scaled[rows] = scale(probabilities[rows], temperature(probabilities[~rows], labels[~rows]))
    return scaled


def temperature_of(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """The temperature that minimises the log loss of probabilities (N, C) with their labels (N,).

    It is 1 where all rows are right: then they do not say how confident the model should be, and the minimum would be
    at full confidence.

    Raises:
        InputError: there are no rows, or a probability is not a number.
    """
    if len(labels) and (probabilities.argmax(1) == labels).all():
        return 1.0
    with np.errstate(divide="ignore"):
        return fit_temperature(np.log(np.asarray(probabilities, np.float64)), labels)


def half_of_rows(groups: np.ndarray | int, seed: int) -> np.ndarray:
    """Whether each row is in the first half (N,): half of the groups, drawn at random.

    Args:
        groups: (N,) the group of each row, or the number N of rows that are independent.
    """
    numbers = np.arange(groups) if isinstance(groups, int) else np.unique(groups, return_inverse=True)[1].ravel()
    count = int(numbers.max()) + 1
    return np.isin(numbers, np.random.default_rng(seed).permutation(count)[: count // 2])


# Temperature scaling where a text can have several labels: sigmoid(logit / T) with one T for all labels.

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
    """As `salience.scores.calibration.temperature_scores`, of labels (V, C) and (N, C)."""
    temperature = label_temperature(validation, validation_labels)
    return {"temperature": temperature} | errors(test, with_label_temperature(test, temperature), labels)


def label_cross_fitted(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> dict[str, float | None]:
    """As `salience.scores.calibration.cross_fitted`, of labels (N, C)."""
    scaled = label_cross_scaled(probabilities, labels, groups, seed)
    return {"temperature": label_temperature(probabilities, labels)} | errors(probabilities, scaled, labels)


def label_cross_scaled(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> np.ndarray | None:
    """As `salience.scores.calibration.cross_scaled`, of labels (N, C)."""
    return scaled_by_halves(probabilities, labels, groups, seed, label_temperature, with_label_temperature)


def errors(before: np.ndarray, after: np.ndarray | None, labels: np.ndarray) -> dict[str, float | None]:
    """The calibration errors before and after scaling, by the names of `cross_fitted`."""
    found: dict[str, float | None] = {}
    for name, equal_mass in (("calibration_error", False), ("equal_mass_calibration_error", True)):
        found[name] = label_calibration_error(before, labels, equal_mass)
        found[f"{name}_scaled"] = None if after is None else label_calibration_error(after, labels, equal_mass)
    return found
