"""Thresholds for a target precision where a text can have several labels: one for each label, by itself.

A label is predicted from its threshold on, so its precision is the share of right ones among the texts that get it.
The test is that of `salience.training.thresholds`, with the probability of the label as confidence. The thresholds are
`label_thresholds` of the model, in place of those with the best F1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from salience.errors import listed, quoted
from salience.models.problem import SeveralLabels
from salience.models.thresholds import HALF
from salience.training.intervals import wilson_interval
from salience.training.thresholds import CERTAINTY, FIRST, lowest_threshold


def precision_threshold(probabilities: np.ndarray, labels: np.ndarray, target: float, error: float) -> float:
    """The lowest threshold from which on one label is predicted with the target precision; 1 if there is none.

    The first candidate has a quarter of the rows that get the label at 0.5, or as many as can pass the test.

    Args:
        probabilities: (N,) of the label.
        labels: (N,), 0 and 1.
        target: the precision.
        error: the probability with which the precision may be below the target.
    """
    first = -(-int((probabilities >= HALF).sum()) // FIRST)
    exceeded = lowest_threshold(probabilities.astype(float), labels == 1, target, error, first)
    return float(np.nextafter(exceeded, 1))  # a label is predicted at its threshold, not only above it


def precision_thresholds(probabilities: np.ndarray, labels: np.ndarray, target: float) -> np.ndarray:
    """The thresholds of all labels (C,): with certainty 0.95, the precision of each is at least the target.

    The probability of an error is divided among the labels (Bonferroni). No labels share a threshold: the test needs
    independent decisions, and those about several labels of one text are not.

    Args:
        probabilities: (N, C), of independent rows that the models have not seen.
        labels: (N, C), 0 and 1.
        target: the precision.
    """
    error = (1 - CERTAINTY) / labels.shape[1]
    return np.array([
        precision_threshold(*of_label, target, error) for of_label in zip(probabilities.T, labels.T, strict=True)
    ])  # fmt: skip


def reachable_precisions(probabilities: np.ndarray, labels: np.ndarray, target: float) -> list[float | None]:
    """The highest precision of each label below the target, in hundredths from 0.5 on; None if none is reached.

    Args:
        probabilities, labels, target: as of `precision_thresholds`.
    """
    found: list[float | None] = [None] * labels.shape[1]
    for hundredths in range(50, math.ceil(target * 100 - 1e-9)):
        reached = precision_thresholds(probabilities, labels, hundredths / 100) < 1
        found = [hundredths / 100 if now else before for before, now in zip(found, reached, strict=True)]
    return found


def precision_numbers(
    probabilities: np.ndarray, labels: np.ndarray, thresholds: np.ndarray, names: Sequence[str], target: float
) -> dict[str, Any]:
    """What metrics.json says of the thresholds.

    Args:
        probabilities, labels, target: as of `precision_thresholds`.
        thresholds: (C,), by these rows.
        names: of the C labels.

    Returns:
        "target_precision", "certainty", "rows", and "labels" by name: "threshold", "rows" that have the label,
        "predicted", "precision" with Wilson's 95 % interval and "recall". Where nothing is predicted, the precision is
        None, and "reachable" is the highest precision that is reached.
    """
    decided, reachable = SeveralLabels().decisions(probabilities, thresholds), None
    each: dict[str, dict[str, Any]] = {}
    for number, name in enumerate(names):
        rows, predicted = int(labels[:, number].sum()), int(decided[:, number].sum())
        right = int((decided[:, number] & (labels[:, number] == 1)).sum())
        each[name] = {
            "threshold": float(thresholds[number]), "rows": rows, "predicted": predicted,
            "precision": right / predicted if predicted else None,
            "precision_interval": list(wilson_interval(right, predicted)) if predicted else None,
            "recall": right / rows if rows else None,
        }  # fmt: skip
        if thresholds[number] == 1:
            reachable = reachable or reachable_precisions(probabilities, labels, target)
            each[name]["reachable"] = reachable[number]
    return {"target_precision": target, "certainty": CERTAINTY, "rows": len(labels), "labels": each}


def precision_sentences(metrics: Mapping[str, Any]) -> list[str]:
    """Which labels reach the target, in a line, and which are never predicted, in another; empty without a target.

    Args:
        metrics: of the run, as metrics.json has them.
    """
    found = metrics.get("estimate", {}).get("label_precision")
    if found is None:
        return []
    target, labels = f"a precision of {found['target_precision']:g}", found["labels"]
    never = [
        f"{quoted(name)} ({'not even 0.5' if each['reachable'] is None else format(each['reachable'], 'g')})"
        for name, each in labels.items() if each["threshold"] == 1
    ]  # fmt: skip
    reached = len(labels) - len(never)
    lines = [
        f"labels are predicted from thresholds for {target}: {reached} of {len(labels)} labels reach it with 95 % "
        f"certainty on {found['rows']:,} rows of the estimate"
    ]
    if never:
        lines.append(
            f"never predicted, because {target} is out of reach: {listed(never, 5)}; in brackets the precision that "
            "can be stated; predict --threshold predicts them all the same"
        )
    return lines
