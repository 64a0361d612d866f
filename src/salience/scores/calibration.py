"""Temperature scaling (Guo et al., 2017, arXiv:1706.04599, Sec. 4.2): one number that calibrates probabilities.

With one label for a text it is softmax(logits / T); with several, sigmoid(logit / T) with one T for all labels. Rows
on which T is fitted must be others than those that are scored with it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from salience.errors import InputError

LIMITS = (0.05, 20.0)  # of T. Without them T would be 0 where all rows are right, and infinite for answers of chance.
# A class without any probability would give every T an infinite loss; this is the lowest log probability in float32.
LOWEST = float(np.log(np.finfo(np.float32).tiny))


def minimum(log_loss: Callable[[float], float]) -> float:
    """The T between `LIMITS` with the lowest log loss, a function of ln T with one minimum: it is convex in 1 / T."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(log_loss, bounds=np.log(LIMITS), method="bounded", options={"xatol": 1e-6})
    # The search does not try the limits themselves. They come first: a loss can be 0 in floating point before them.
    return float(np.exp(min((*np.log(LIMITS), found.x), key=log_loss)))


def fit_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """The temperature T that minimises the log loss of softmax(logits / T), for logits (N, C) and class numbers (N,).

    It is a limit if every row is right, or the logits say nothing about the labels.
    """
    if not len(logits):
        raise InputError("there are no rows to fit a temperature on: give labelled validation rows")
    if np.isnan(logits).any():
        raise InputError("a logit is not a number (NaN), so no temperature can be fitted: check the model's outputs")
    log_probabilities = np.maximum(log_softmax(np.asarray(logits, np.float64), axis=1), LOWEST)
    rows = np.arange(len(labels))
    return minimum(lambda ln_t: -float(log_softmax(log_probabilities / np.exp(ln_t), axis=1)[rows, labels].mean()))


def temperature_of(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """The temperature that minimises the log loss of probabilities (N, C) with their labels (N,).

    It is 1 where all rows are right: the minimum would be at full confidence.

    Raises:
        InputError: there are no rows, or a probability is not a number.
    """
    if len(labels) and (probabilities.argmax(1) == labels).all():
        return 1.0
    with np.errstate(divide="ignore"):
        return fit_temperature(np.log(np.asarray(probabilities, np.float64)), labels)


def with_temperature(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """p^(1/T) / sum p^(1/T), of the same shape (N, C) and type. Predicted classes stay the same."""
    with np.errstate(divide="ignore"):  # log 0 is -inf, whose softmax is 0
        scaled = softmax(np.log(np.asarray(probabilities, np.float64)) / temperature, axis=1)
    return scaled.astype(probabilities.dtype)


def logits_of(probabilities: np.ndarray) -> np.ndarray:
    """ln p - ln (1 - p) (N, C) in float64. Probabilities of 0 and 1 count as the nearest other ones in float32."""
    clipped = np.clip(probabilities.astype(np.float64), float(np.finfo(np.float32).tiny), 1 - 2.0**-24)
    return np.log(clipped) - np.log1p(-clipped)


def label_temperature_of(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """As `temperature_of`, of labels (N, C), 0 and 1."""
    if ((probabilities >= 0.5) == labels).all():
        return 1.0
    signed = np.where(labels == 1, 1, -1) * logits_of(probabilities)
    return minimum(lambda ln_t: -float(log_expit(signed / np.exp(ln_t)).mean()))


def with_label_temperature(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """sigmoid(logit / T), of the same shape (N, C) and type."""
    return expit(logits_of(probabilities) / temperature).astype(probabilities.dtype)


def half_of_rows(groups: np.ndarray | int, seed: int) -> np.ndarray:
    """Whether each row is in the first half (N,): half of the groups (N,), or of N independent rows, sampled at
    random."""
    numbers = np.arange(groups) if isinstance(groups, int) else np.unique(groups, return_inverse=True)[1].ravel()
    count = int(numbers.max()) + 1
    return np.isin(numbers, np.random.default_rng(seed).permutation(count)[: count // 2])
