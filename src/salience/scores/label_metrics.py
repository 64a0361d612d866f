"""Scores of predicted probabilities where a text can have several labels, or none.

Probabilities are (N, C), one for each label by itself, and labels are 0 and 1 (N, C). Scores of decisions are of the
labels whose probability is at least 0.5, or at least their own threshold (`salience.scores.thresholds`).
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from salience.models.problem import HALF
from salience.scores.metrics import equal_mass_intervals, equal_width_intervals, mean_gap

AT_THRESHOLDS = "_at_thresholds"  # ends the names of the scores of decisions by the thresholds of the labels


def label_scores(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """The scores that are computed at every evaluation, by name.

    Args:
        probabilities: (N, C).
        labels: (N, C), 0 and 1.

    Returns:
        Those of `decision_scores` with the threshold 0.5; "ranking_precision", the label ranking average precision of
        scikit-learn, which needs no threshold: 1 if the labels of every text are its most probable ones; and
        "log_loss", the mean over the labels of their log losses, in nats.
    """
    from sklearn.metrics import label_ranking_average_precision_score

    return decision_scores(probabilities >= HALF, labels) | {
        "ranking_precision": float(label_ranking_average_precision_score(labels, probabilities)),
        "log_loss": float(log_losses(probabilities, labels).mean(0).mean()),
    }


def decision_scores(predicted: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """The scores of decisions: "micro_f1", "macro_f1" and "subset_accuracy", from 0 to 1.

    Micro-F1 is that of all decisions together, macro-F1 the mean over the labels, where a label that is neither
    predicted nor right counts 0, as in scikit-learn. Subset accuracy is the share of the texts all of whose labels are
    right.

    Args:
        predicted, labels: (N, C), 0 and 1.
    """
    from sklearn.metrics import accuracy_score, f1_score

    predicted = predicted.astype(int)
    return {
        "micro_f1": float(f1_score(labels, predicted, average="micro", zero_division=0)),
        "macro_f1": float(f1_score(labels, predicted, average="macro", zero_division=0)),
        "subset_accuracy": float(accuracy_score(labels, predicted)),
    }


def detailed_label_scores(
    probabilities: np.ndarray, labels: np.ndarray, decided: np.ndarray | None = None
) -> dict[str, float | None]:
    """The `label_scores`, "mean_average_precision", the calibration errors, and scores of further decisions.

    Args:
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
        decided: (N, C) bool, decisions by the thresholds of the labels, whose scores are added with `AT_THRESHOLDS`
            behind their names; None adds none.

    Returns:
        By name. "mean_average_precision" is the mean of the average precision over the labels with a row; None if no
        label has one.
    """
    precisions = average_precisions(probabilities, labels)
    known = precisions[~np.isnan(precisions)]
    more = {} if decided is None else decision_scores(decided, labels)
    return {
        **label_scores(probabilities, labels),
        "mean_average_precision": float(known.mean()) if len(known) else None,
        "calibration_error": label_calibration_error(probabilities, labels),
        "equal_mass_calibration_error": label_calibration_error(probabilities, labels, equal_mass=True),
        **{name + AT_THRESHOLDS: value for name, value in more.items()},
    }


def log_losses(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The log loss of each label of each row (N, C), in nats: -ln of the probability of its 0 or 1.

    Probabilities are clipped at the precision of their type, as in scikit-learn's `log_loss`.

    Args:
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
    """
    least = np.finfo(probabilities.dtype).eps
    clipped = np.clip(probabilities.astype(float), least, 1 - least)
    return -np.where(labels == 1, np.log(clipped), np.log1p(-clipped))


def average_precisions(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The average precision of each label (C,), as scikit-learn has it; NaN for a label without rows.

    Args:
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
    """
    from sklearn.metrics import average_precision_score

    return np.array([
        average_precision_score(labels[:, number], probabilities[:, number]) if labels[:, number].any() else np.nan
        for number in range(labels.shape[1])
    ])  # fmt: skip


def label_calibration_error(probabilities: np.ndarray, labels: np.ndarray, equal_mass: bool = False) -> float:
    """Expected calibration error of all N * C decisions, from 0 to 1.

    sum_b n_b / (N C) |share of ones in b - mean probability in b|, over intervals b of probabilities. This is the
    error of Guo et al. (2017), arXiv:1706.04599, Eq. 3, with the probability of a label in place of the confidence, as
    for a binary classifier. Most labels do not apply to most texts, so that most probabilities are near 0 and the
    error is smaller than that of a classifier of one label.

    Args:
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
        equal_mass: whether intervals hold equally many probabilities; otherwise they have equal width.
    """
    flat = probabilities.ravel()
    interval = (equal_mass_intervals if equal_mass else equal_width_intervals)(flat)
    return mean_gap(interval, labels.ravel(), flat)


def label_selection(probabilities: np.ndarray, labels: np.ndarray, progress: float) -> float:
    """The score by which the best checkpoint is selected, as `salience.scores.metrics.selection`.

    In place of the accuracy it has the ranking precision, which needs no thresholds. The standard error is that of a
    proportion, which is the largest that the mean of numbers from 0 to 1 can have.

    Args:
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
        progress: part of the training steps that is done, from 0 to 1.
    """
    from sklearn.metrics import label_ranking_average_precision_score

    mean, rows = float(label_ranking_average_precision_score(labels, probabilities)), len(labels)
    right = mean * rows
    return mean + 2 * ((right + 1) * (rows - right + 1) / (rows + 2) ** 3) ** 0.5 * progress


def each_label(
    probabilities: np.ndarray, labels: np.ndarray, decided: np.ndarray, names: list[str], thresholds: np.ndarray
) -> dict[str, dict[str, float | int | None]]:
    """The scores of every label, by its name.

    Args:
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
        decided: (N, C) bool, the labels that are predicted.
        names: of the C labels.
        thresholds: (C,) of the model.

    Returns:
        "rows", those that have the label; "predicted", those that get it; "precision", "recall" and "f1", which are
        None where nothing is predicted, right, or either; "average_precision", None without rows; "log_loss" and
        "threshold".
    """
    right, support, named = (decided & (labels == 1)).sum(0), labels.sum(0), decided.sum(0)
    precisions, losses = average_precisions(probabilities, labels), log_losses(probabilities, labels).mean(0)

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


# Scores of each row and of each label where a text can have several labels, as comparisons of methods need them.


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
    """ "f1" and "support" of each label (C,), as `salience.scores.metrics.class_scores` has them of classes.

    Args:
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
    """
    predicted = probabilities >= HALF
    named, support = predicted.sum(0), labels.sum(0)
    return {"f1": 2 * (predicted & (labels == 1)).sum(0) / np.maximum(named + support, 1), "support": support}
