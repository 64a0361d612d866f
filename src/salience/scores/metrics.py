"""Scores of predicted probabilities that scikit-learn does not have, or not of each row or each label.

Probabilities are (N, C). Labels are class numbers (N,); or 0 and 1 (N, C) where texts are multi-label.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

BINS = 15
HALF = 0.5  # threshold of a label that has no other, where a text can have several


def calibration_error(confidence: np.ndarray, right: np.ndarray, equal_mass: bool = False, bins: int = BINS) -> float:
    """Expected calibration error: sum_b n_b / M |share of right ones in b - mean confidence in b|, from 0 to 1.

    Guo et al. (2017), arXiv:1706.04599, Eq. 3; proposed by Naeini et al. (2015), doi 10.1609/aaai.v29i1.9602. The bins
    b are intervals of equal width, or with `equal_mass` hold equally many decisions: confidences of a good classifier
    are close to 1, so that most intervals of equal width are nearly empty.
    """
    flat = confidence.ravel()
    interval = (equal_mass_intervals if equal_mass else equal_width_intervals)(flat, bins)
    gap = np.bincount(interval, right.ravel(), bins) - np.bincount(interval, flat, bins)  # 0 for empty bins
    return float(np.abs(gap).sum() / len(flat))


def equal_width_intervals(confidence: np.ndarray, bins: int = BINS) -> np.ndarray:
    """The interval of each confidence, from 0 to `bins` - 1, of equal widths over [0, 1], upper bounds included."""
    return np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)


def equal_mass_intervals(confidence: np.ndarray, bins: int = BINS) -> np.ndarray:
    """The interval of each confidence (M,), from 0 to `bins` - 1, where intervals hold equally many confidences.

    The bounds are quantiles (Nguyen and O'Connor, 2015, arXiv:1508.05154; Nixon et al., 2019, arXiv:1904.01685), upper
    bounds included, as in scikit-learn's `calibration_curve(strategy="quantile")`. So equal confidences are in one
    interval, and some intervals may be empty.
    """
    bounds = np.quantile(confidence, np.linspace(0, 1, bins + 1))
    return np.searchsorted(bounds[1:-1], confidence)


def error_auroc(probabilities: np.ndarray, labels: np.ndarray) -> float | None:
    """AUROC of errors: the probability that a right answer has a higher confidence than a wrong one; ties count half.

    Hendrycks and Gimpel (2017), arXiv:1610.02136, Sec. 2. Labels are class numbers (N,). None if all answers are right
    or all are wrong. Classifiers of different accuracies have other errors to find, so compare their values with care.
    """
    from sklearn.metrics import roc_auc_score

    right = probabilities.argmax(1) == labels
    return None if right.all() or not right.any() else float(roc_auc_score(right, probabilities.max(1)))


class ConfusedPair(NamedTuple):
    """How many of the `of` rows of a class are predicted as another one: a mean where several runs are counted
    together."""

    label: int
    predicted: int
    rows: float
    of: float


def confused_pairs(confusion: np.ndarray, most: int) -> list[ConfusedPair]:
    """The `most` pairs of different classes with the most rows, from rows by label and prediction (C, C)."""
    wrong = confusion - np.diag(np.diag(confusion))
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    return [
        ConfusedPair(row, column, wrong[row, column].item(), confusion[row].sum().item())
        for row, column in (divmod(int(place), len(confusion)) for place in order)
        if wrong[row, column]
    ]


def label_log_losses(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The log loss of each label of each row (N, C), in nats, clipped as scikit-learn's `log_loss`."""
    least = np.finfo(probabilities.dtype).eps
    clipped = np.clip(probabilities.astype(float), least, 1 - least)
    return -np.where(labels == 1, np.log(clipped), np.log1p(-clipped))


def average_precisions(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The average precision of each label (C,), as scikit-learn has it; NaN for a label without rows."""
    from sklearn.metrics import average_precision_score

    return np.array([
        average_precision_score(own, of_label) if own.any() else np.nan
        for own, of_label in zip(labels.T, probabilities.T, strict=True)
    ])  # fmt: skip


def decision_scores(predicted: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """The scores of decisions (N, C) about several labels: "micro_f1", "macro_f1" and "subset_accuracy", from 0 to 1.

    Micro-F1 is that of all decisions together, macro-F1 the mean over the labels, where a label that is neither
    predicted nor right counts 0. Subset accuracy is the share of the texts all of whose labels are right.
    """
    from sklearn.metrics import accuracy_score, f1_score

    predicted = predicted.astype(int)
    return {
        "micro_f1": float(f1_score(labels, predicted, average="micro", zero_division=0)),
        "macro_f1": float(f1_score(labels, predicted, average="macro", zero_division=0)),
        "subset_accuracy": float(accuracy_score(labels, predicted)),
    }


def linearised_f1(right: np.ndarray, either: np.ndarray) -> np.ndarray:
    """The F1 as values of rows whose mean it is; 0 where nothing is right or predicted.

    F1 = 2 sum(r) / sum(s) is a ratio of sums: r right predictions, s labels plus predictions, of each row (N,) or of
    each label of it (N, C). The value of row i is F1 + (2 r_i - F1 s_i) / mean(s), whose variance is that of the
    infinitesimal jackknife (Efron, 1982, The Jackknife, the Bootstrap and Other Resampling Plans, chapter 6).
    """
    mean = np.maximum(either.mean(0), 1e-300)
    f1 = 2 * right.mean(0) / mean
    return f1 + (2 * right - f1 * either) / mean


def ranking_precisions(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The label ranking average precision of each row (N,).

    It is the mean over the labels of the row: of the labels that are ranked at least as high, the share that applies.
    A row with no label or all labels has 1, as in scikit-learn, whose score is the mean over the rows. Schapire and
    Singer (2000), BoosTexter, doi 10.1023/A:1007649029923; Tsoumakas, Katakis and Vlahavas (2010), Mining Multi-label
    Data, doi 10.1007/978-0-387-09823-4_34.
    """
    from scipy.stats import rankdata

    applies = labels == 1
    ranks = rankdata(-probabilities, "max", axis=1)
    among = rankdata(np.where(applies, -probabilities, np.inf), "max", axis=1)
    counts = applies.sum(1)
    means = np.where(applies, among / ranks, 0).sum(1) / np.maximum(counts, 1)
    return np.where((counts == 0) | (counts == labels.shape[1]), 1.0, means)


def each_label(
    probabilities: np.ndarray, labels: np.ndarray, decided: np.ndarray, names: list[str], thresholds: np.ndarray
) -> dict[str, dict[str, Any]]:
    """The scores of every label where a text can have several, by its name; None where there is nothing to count."""
    right, support, named = (decided & (labels == 1)).sum(0), labels.sum(0), decided.sum(0)
    precisions, losses = average_precisions(probabilities, labels), label_log_losses(probabilities, labels).mean(0)

    def share(part: float, whole: float) -> float | None:
        return float(part / whole) if whole else None

    return {
        name: {
            "rows": int(support[number]), "predicted": int(named[number]),
            "precision": share(right[number], named[number]), "recall": share(right[number], support[number]),
            "f1": share(2 * right[number], support[number] + named[number]),
            "average_precision": None if np.isnan(precisions[number]) else float(precisions[number]),
            "log_loss": float(losses[number]), "threshold": float(thresholds[number]),
        }
        for number, name in enumerate(names)
    }  # fmt: skip
