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


def selection(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """What the best checkpoint is chosen by: validation accuracy, and among equals the smaller log loss.

    A small validation part knows few accuracies, so ties are the rule; the log loss breaks them and, squeezed below
    half a text, never outweighs one.
    """
    chosen = probabilities[np.arange(len(labels)), labels].clip(1e-12)
    loss = float(-np.log(chosen).mean())
    return float((probabilities.argmax(1) == labels).mean() - loss / (1 + loss) / (2 * len(labels)))
