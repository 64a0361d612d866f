"""Metrics of predicted probabilities: accuracy, macro-F1, calibration error and log loss."""

from __future__ import annotations

import numpy as np

BINS = 15


def scores(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Accuracy, macro-F1, calibration error and log loss, by name.

    Macro-F1 is the mean over the classes that occur in the labels or the predictions, as in scikit-learn. The log loss
    is in nats.

    Args:
        probabilities: (N, C); the class of the highest one is predicted.
        labels: (N,), class numbers.
    """
    from sklearn.metrics import accuracy_score, f1_score, log_loss

    predicted = probabilities.argmax(1)
    return {
        "accuracy": float(accuracy_score(labels, predicted)),
        "macro_f1": float(f1_score(labels, predicted, average="macro", zero_division=0)),
        "calibration_error": calibration_error(probabilities, labels),
        "log_loss": float(log_loss(labels, probabilities, labels=np.arange(probabilities.shape[1]))),
    }


def calibration_error(probabilities: np.ndarray, labels: np.ndarray, bins: int = BINS) -> float:
    """Expected calibration error: sum_b n_b / N |accuracy_b - confidence_b|, from 0 to 1.

    Guo et al. (2017), arXiv:1706.04599, Eq. 3; proposed by Naeini et al. (2015), doi 10.1609/aaai.v29i1.9602.
    The confidence is the highest probability. It is binned into intervals of equal width over [0, 1], each of which
    includes its upper bound. scikit-learn does not have this metric.

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.
        bins: number of intervals.
    """
    confidence = probabilities.max(1)
    right = probabilities.argmax(1) == labels
    interval = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    count = np.bincount(interval, minlength=bins)
    gap = np.bincount(interval, right, bins) - np.bincount(interval, confidence, bins)
    return float(np.abs(gap[count > 0]).sum() / len(labels))


def selection(probabilities: np.ndarray, labels: np.ndarray, progress: float) -> float:
    """The score by which the best checkpoint is selected: accuracy plus 2 * progress standard errors of it.

    The accuracy on a small validation part is known to a few points only. Its maximum over checkpoints is partly
    chance and often early, when the learning rate is still high. With this score, a later checkpoint is preferred
    unless it is worse by more than chance explains.

    The standard error is that of the proportion (k + 1) / (n + 2) for k correct predictions of n, which is above 0
    even if all are correct (similar to Agresti and Coull, 1998, doi 10.1080/00031305.1998.10480550, who add 2 and 4).

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.
        progress: part of the training steps that is done, from 0 to 1.
    """
    rows = len(labels)
    right = int((probabilities.argmax(1) == labels).sum())
    error = ((right + 1) * (rows - right + 1) / (rows + 2) ** 3) ** 0.5
    return right / rows + 2 * error * progress
