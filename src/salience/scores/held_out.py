"""What out-of-fold predictions decide: the weight of the interpolation, and the thresholds of abstaining."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from salience.scores.calibration import half_of_rows, with_label_temperature, with_temperature
from salience.scores.intervals import wilson_interval
from salience.scores.labels import labels_of
from salience.scores.thresholds import (
    CERTAINTY,
    find_thresholds,
    one_row_of_each,
    precision_numbers,
    precision_thresholds,
    reachable_precision,
)


def chosen_share(probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None) -> int:
    """Chooses the interpolation weight on out-of-fold predictions: the lowest log loss, if clearly below the last one.

    Args:
        probabilities: (S, N, C) by interpolation weight, the fine-tuned weights last.
        groups: (N,) the group of each row, whose rows are often right or wrong together; None for independent rows.
    """
    scoring = labels_of(labels)
    losses = np.stack([scoring.row_scores(scoring.scaled(each, labels), labels)["log_loss"] for each in probabilities])
    best = int(losses.mean(1).argmin())
    gain = losses[-1] - losses[best]
    return best if gain.mean() > standard_error(gain, groups) else len(losses) - 1


def standard_error(values: np.ndarray, groups: np.ndarray | None = None) -> float:
    """The standard error of a mean over rows (N,), which are independent between groups (N,) only.

    The cluster-robust one of Liang and Zeger (1986, Biometrika 73(1), 13-22), with G / (G - 1) for G groups. It is
    infinite for a single group, which says nothing about other ones.
    """
    numbers = np.arange(len(values)) if groups is None else np.unique(groups, return_inverse=True)[1]
    sums = np.bincount(numbers, values - values.mean())
    if len(sums) < 2:
        return np.inf
    return float(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / len(values))


def cross_chosen(
    probabilities: np.ndarray, labels: np.ndarray, kept: int, groups: np.ndarray | None = None, seed: int = 0
) -> np.ndarray:
    """The probabilities (N, C) of the rows, each half with the interpolation weight that the other half chooses.

    A row never helps to choose the weights that predict it, unless all rows are of one group. Shares differ in how
    confident they are: a share near the regression needs another temperature than the trained weights. Probabilities
    of another share than the kept one are therefore brought to its confidence, so that the temperature and the
    thresholds that are found on all rows suit the model that is kept.

    Args:
        probabilities, groups: as of `chosen_share`.
        kept: the number of the share that the model of the run has.
        seed: of the halves, which divide no group.
    """
    scoring, first = labels_of(labels), half_of_rows(len(labels) if groups is None else groups, seed)
    found = probabilities[kept].copy()
    if not first.any():
        return found
    temperatures = [scoring.temperature(each, labels) for each in probabilities]
    for rows in (first, ~first):
        others = ~rows
        chosen = chosen_share(probabilities[:, others], labels[others], None if groups is None else groups[others])
        if chosen != kept:
            ratio = temperatures[chosen] / temperatures[kept]
            found[rows] = scoring.with_temperature(probabilities[chosen, rows], ratio)
    return found


def abstention(
    probabilities: np.ndarray, labels: np.ndarray, names: Sequence[str], target: float,
    temperature: float = 1.0, groups: np.ndarray | None = None, seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """What metrics.json says of the thresholds (C,) below which a classifier abstains.

    Args:
        probabilities: (N, C) of rows with their class numbers (N,), before scaling.
        target: the precision.
        temperature: that is folded into the model; thresholds are of the probabilities after it.
        groups: (N,) the group of each row, one row of which counts; None for independent rows.
        seed: of the rows that are sampled from the groups.

    Returns:
        "target_precision", "certainty", "thresholds" by name, those of `decided_scores`, and "reachable" if nothing is
        decided.
    """
    if groups is not None:
        rows = one_row_of_each(groups, seed)
        probabilities, labels = probabilities[rows], labels[rows]
    final = with_temperature(probabilities, temperature)
    values = find_thresholds(final, labels, target)
    thresholds = dict(zip(names, values.tolist(), strict=True))
    numbers = {"target_precision": target, "certainty": CERTAINTY, "thresholds": thresholds}
    numbers |= decided_scores(final, labels, values)
    if (values == 1).all():
        numbers["reachable"] = reachable_precision(final, labels, target)
    return numbers


def label_precision(
    probabilities: np.ndarray, labels: np.ndarray, names: Sequence[str], target: float,
    temperature: float = 1.0, groups: np.ndarray | None = None, seed: int = 0,
) -> tuple[np.ndarray, dict[str, Any]]:  # fmt: skip
    """As `abstention`, where texts are multi-label: the thresholds (C,), and `precision_numbers`."""
    final = with_label_temperature(probabilities, temperature)
    rows = np.arange(len(labels)) if groups is None else one_row_of_each(groups, seed)
    thresholds = precision_thresholds(final[rows], labels[rows], target)
    return thresholds, precision_numbers(final[rows], labels[rows], thresholds, names, target)


def decided_scores(probabilities: np.ndarray, labels: np.ndarray, thresholds: np.ndarray) -> dict[str, Any]:
    """How many rows are decided by thresholds (C,), and how many of these are right, with Wilson's 95 % intervals."""
    predicted = probabilities.argmax(1)
    decided = probabilities.max(1) > thresholds[predicted]
    right = int((predicted == labels)[decided].sum())
    rows, count = len(labels), int(decided.sum())
    return {
        "rows": rows, "decided": count,
        "coverage": count / rows, "coverage_interval": list(wilson_interval(count, rows)),
        "precision": right / count if count else None,
        "precision_interval": list(wilson_interval(right, count)) if count else None,
    }  # fmt: skip
