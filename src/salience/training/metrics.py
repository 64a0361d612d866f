"""How good predicted probabilities are: right, right in every class, and as sure as they ought to be."""

from __future__ import annotations

import numpy as np

BINS = 15


def scores(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Accuracy, macro-F1, calibration error and log loss of (N, C) probabilities for (N,) labels.

    Macro-F1 is the mean over the classes that occur in the labels or the predictions, as scikit-learn takes it.
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
    """Expected calibration error (Naeini et al., 2015; Guo et al., 2017): sum_b n_b/N |accuracy_b - confidence_b|.

    Confidences are put into `bins` intervals of equal width over [0, 1], closed above; a model that is right as often
    as it says has 0. Neither `evaluate` nor scikit-learn offers it.
    """
    confidence = probabilities.max(1)
    right = probabilities.argmax(1) == labels
    interval = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    count = np.bincount(interval, minlength=bins)
    gap = np.bincount(interval, right, bins) - np.bincount(interval, confidence, bins)
    return float(np.abs(gap[count > 0]).sum() / len(labels))


def selection(probabilities: np.ndarray, labels: np.ndarray, progress: float) -> float:
    """What the best checkpoint is chosen by: validation accuracy, and two standard errors of it by the end of the run.

    A small validation part knows accuracy only to a few points, and its largest value comes by chance, often early,
    while the learning rate is still high. So a later checkpoint wins unless it is worse by more than chance explains.
    `progress` is the part of the steps that is done.

    The error is that of (k + 1) right of n + 2 (Agresti and Coull, 1998), which is not 0 when all are right.
    """
    rows = len(labels)
    right = int((probabilities.argmax(1) == labels).sum())
    error = ((right + 1) * (rows - right + 1) / (rows + 2) ** 3) ** 0.5
    return right / rows + 2 * error * progress
