"""Scores of predicted probabilities: accuracy, F1, log loss, Brier score, calibration errors, AUROC of errors."""

from __future__ import annotations

from typing import NamedTuple

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


def detailed_scores(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, float | None]:
    """The `scores` and those that need more of the probabilities, by name.

    The log loss clips probabilities of 0 at the precision of their type, as scikit-learn does: at 1.2e-7 in float32,
    2.2e-16 in float64. Log losses are comparable among probabilities of one type only.

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.

    Returns:
        `scores`, "brier_score", "equal_mass_calibration_error" and "error_auroc", which is None where it is undefined.
    """
    return scores(probabilities, labels) | {
        "brier_score": brier_score(probabilities, labels),
        "equal_mass_calibration_error": equal_mass_calibration_error(probabilities, labels),
        "error_auroc": error_auroc(probabilities, labels),
    }


def row_scores(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """The scores that are means over rows, of each row (N,): "accuracy" (0 or 1), "log_loss" and "brier_score".

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.
    """
    of_label = probabilities[np.arange(len(labels)), labels].astype(float)
    least = np.finfo(probabilities.dtype).eps  # as in scikit-learn's log loss
    return {
        "accuracy": (probabilities.argmax(1) == labels).astype(float),
        "log_loss": -np.log(np.clip(of_label, least, 1 - least)),
        "brier_score": ((probabilities - np.eye(probabilities.shape[1])[labels]) ** 2).sum(1),
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
    return mean_gap(equal_width_intervals(confidence, bins), right, confidence, bins)


def equal_width_intervals(confidence: np.ndarray, bins: int = BINS) -> np.ndarray:
    """The interval of each confidence (N,), from 0 to `bins` - 1, for `calibration_error`.

    Args:
        confidence: (N,).
        bins: number of intervals of equal width over [0, 1].
    """
    return np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)


def equal_mass_calibration_error(probabilities: np.ndarray, labels: np.ndarray, bins: int = BINS) -> float:
    """Expected calibration error as in `calibration_error`, with intervals that hold equally many rows each.

    Confidences of a good classifier are close to 1, so that most intervals of equal width are nearly empty. Here the
    bounds are quantiles of the confidences (Nguyen and O'Connor, 2015, arXiv:1508.05154; Nixon et al., 2019,
    arXiv:1904.01685). They are interpolated linearly, and each interval includes its upper bound, as in scikit-learn's
    `calibration_curve(strategy="quantile")`. So equal confidences are always in one interval, and the order of the
    rows has no effect; with many equal confidences, intervals differ in their number of rows, and some are empty.

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.
        bins: number of intervals.
    """
    confidence = probabilities.max(1)
    right = probabilities.argmax(1) == labels
    return mean_gap(equal_mass_intervals(confidence, bins), right, confidence, bins)


def equal_mass_intervals(confidence: np.ndarray, bins: int = BINS) -> np.ndarray:
    """The interval of each confidence (N,), from 0 to `bins` - 1, for `equal_mass_calibration_error`.

    Args:
        confidence: (N,).
        bins: number of intervals, which hold equally many rows each as far as confidences differ.
    """
    bounds = np.quantile(confidence, np.linspace(0, 1, bins + 1))
    return np.searchsorted(bounds[1:-1], confidence)


def mean_gap(interval: np.ndarray, right: np.ndarray, confidence: np.ndarray, bins: int = BINS) -> float:
    """sum_b n_b / N |accuracy_b - confidence_b|, where row i (of N) is in the bin `interval[i]`."""
    gap = np.bincount(interval, right, bins) - np.bincount(interval, confidence, bins)  # 0 for empty bins
    return float(np.abs(gap).sum() / len(right))


def brier_score(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Brier score: the mean over rows of sum_c (p_c - y_c)^2, from 0 to 2, where y is 1 for the label and 0 elsewhere.

    This is the score of Brier (1950, doi 10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2, Eq. 2), a sum over all
    classes. For two classes it is twice the score that sums over one class only; scikit-learn's `brier_score_loss`
    gives it with `scale_by_half=False`, from version 1.7 on.

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.
    """
    return float(row_scores(probabilities, labels)["brier_score"].mean())


def error_auroc(probabilities: np.ndarray, labels: np.ndarray) -> float | None:
    """AUROC of errors: the probability that a right answer has a higher confidence than a wrong one; ties count half.

    From 0 to 1; 0.5 is chance. Hendrycks and Gimpel (2017), arXiv:1610.02136, Sec. 2. The confidence is the highest
    probability of a row. Classifiers whose accuracies differ have other errors to find, so their values are compared
    with care.

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.

    Returns:
        None if all answers are right or all are wrong: there is nothing to rank.
    """
    from sklearn.metrics import roc_auc_score

    right = probabilities.argmax(1) == labels
    return None if right.all() or not right.any() else float(roc_auc_score(right, probabilities.max(1)))


def class_scores(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Precision, recall and F1 of every class, and its number of rows.

    Args:
        probabilities: (N, C); the class of the highest one is predicted.
        labels: (N,), class numbers.

    Returns:
        "precision", "recall" and "f1" to (C,) float, and "support" to (C,) int. The precision of a class that is
        never predicted is 0, as is the recall of a class without rows; F1 is 0 if both are.
    """
    classes, predicted = probabilities.shape[1], probabilities.argmax(1)
    right = np.bincount(labels[predicted == labels], minlength=classes)
    named, support = np.bincount(predicted, minlength=classes), np.bincount(labels, minlength=classes)
    return {
        "precision": right / np.maximum(named, 1),
        "recall": right / np.maximum(support, 1),
        "f1": 2 * right / np.maximum(named + support, 1),
        "support": support,
    }


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


# Which classes are taken for which.


class ConfusedPair(NamedTuple):
    """Rows of one class that are predicted as another one.

    Attributes:
        label: the class number of the rows.
        predicted: the class number that is predicted.
        rows: how many such rows there are; their mean number, where several runs are counted together.
        of: how many rows the class has.
    """

    label: int
    predicted: int
    rows: float
    of: float


def confused_pairs(confusion: np.ndarray, most: int) -> list[ConfusedPair]:
    """The pairs of different classes with the largest numbers of rows, the largest first, at most `most` of them.

    Args:
        confusion: (C, C) rows by label (rows) and prediction (columns), as of `sklearn.metrics.confusion_matrix`.
    """
    wrong = confusion - np.diag(np.diag(confusion))
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    return [
        ConfusedPair(row, column, wrong[row, column].item(), confusion[row].sum().item())
        for row, column in (divmod(int(place), len(confusion)) for place in order)
        if wrong[row, column]
    ]
