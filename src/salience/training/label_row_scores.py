"""Scores of each row and of each label where a text can have several labels, as comparisons of methods need them."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from salience.models.thresholds import HALF
from salience.training.label_metrics import log_losses


def label_row_scores(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """The scores of decisions and of rankings for each row (N,), whose means over rows are the scores.

    "subset_accuracy", "ranking_precision" and "log_loss" are means over rows. "micro_f1" and "macro_f1" are ratios of
    sums, which are linearised: the value of row i is F + (2 r_i - F s_i) / mean(s), where r_i is the number of its
    labels that are predicted and right, s_i that of its labels plus its predictions, and F = 2 sum(r) / sum(s). Their
    mean is F, and their variance over rows is that of the infinitesimal jackknife (Efron, 1982, The Jackknife, the
    Bootstrap and Other Resampling Plans, chapter 6), which a bootstrap over rows has for many rows. For macro-F1 this
    is done for each label; a label that few rows have makes it a rough approximation.

    Args:
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
    """
    predicted = (probabilities >= HALF).astype(int)
    right, either = labels * predicted, labels + predicted
    return {
        "ranking_precision": ranking_precisions(probabilities, labels),
        "micro_f1": linearised_f1(right.sum(1), either.sum(1)),
        "macro_f1": linearised_f1(right, either).mean(1),
        "subset_accuracy": (predicted == labels).all(1).astype(float),
        "log_loss": log_losses(probabilities, labels).mean(1),
    }


def linearised_f1(right: np.ndarray, either: np.ndarray) -> np.ndarray:
    """The F1 as values of rows, see `label_row_scores`; 0 where nothing is right or predicted.

    Args:
        right: number of right predictions of each row, (N,), or (N, C) for C labels apart.
        either: number of labels plus predictions, of the same shape.
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

    Args:
        probabilities: (N, C); the highest is ranked first.
        labels: (N, C), 0 and 1.
    """
    applies = labels == 1
    ranks = rankdata(-probabilities, "max", axis=1)
    among = rankdata(np.where(applies, -probabilities, np.inf), "max", axis=1)
    counts = applies.sum(1)
    means = np.where(applies, among / ranks, 0).sum(1) / np.maximum(counts, 1)
    return np.where((counts == 0) | (counts == labels.shape[1]), 1.0, means)


def label_class_scores(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """ "f1" and "support" of each label (C,), as `salience.training.metrics.class_scores` has them of classes.

    Args:
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
    """
    predicted = probabilities >= HALF
    named, support = predicted.sum(0), labels.sum(0)
    return {"f1": 2 * (predicted & (labels == 1)).sum(0) / np.maximum(named + support, 1), "support": support}
