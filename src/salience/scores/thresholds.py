"""Thresholds above which predictions have a given precision, with certainty: learn then test.

Angelopoulos, Bates, Candès, Jordan and Lei (2021), arXiv:2110.01052: the hypothesis that the precision above a
threshold is too low is tested for one candidate after the other, in a fixed sequence from the highest threshold down,
to the first one that is not rejected. This controls the probability that any true hypothesis is rejected. The test is
the exact one of a binomial proportion, whose interval is that of Clopper and Pearson (1934), doi
10.1093/biomet/26.4.404. Selective classification with such a guarantee is that of Geifman and El-Yaniv (2017),
arXiv:1705.08500.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from salience.errors import listed, quoted
from salience.models.problem import HALF, SeveralLabels
from salience.scores.calibration import half_of_rows
from salience.scores.intervals import wilson_interval
from salience.scores.label_metrics import decision_scores

CERTAINTY = 0.95
FIRST = 4  # the first candidate decides a quarter of the rows
OWN = 20  # a class has a threshold of its own from this multiple of `least_rows` on: see bench/own_thresholds.py


def least_rows(target: float, error: float = 1 - CERTAINTY) -> int:
    """The smallest number of rows that show a precision of `target` if all of them are right: target^n <= error."""
    return math.ceil(math.log(error) / math.log(target))


def lowest_threshold(
    confidence: np.ndarray, right: np.ndarray, target: float, error: float, first: int | None = None
) -> float:
    """The lowest threshold that passes, for N predictions.

    Candidate k decides the k rows of highest confidence, so its threshold is the confidence of the next row, or 0.
    Given that threshold, the k rows are independent draws from all texts above it, and the number of right ones is
    binomial. Candidates are tested in the order of k, from `first` rows on, or from as many as can pass at all, to the
    first that fails. Where the order begins does not depend on which rows are right. With probability
    1 - error, the precision above the returned threshold is at least the target, if precision does not fall as the
    threshold rises.

    Args:
        confidence: (N,) the probability of the predicted class.
        right: (N,) whether it is the label.
        target: the precision, below 1.
        error: the probability with which the precision may be below the target.
        first: the number of rows of the first candidate; None for a quarter of them.

    Returns:
        A threshold that the confidence of decided texts exceeds; 1, which none exceeds, if no candidate passes.
    """
    order = np.argsort(-confidence, kind="stable")
    rows = len(order)
    first = -(-rows // FIRST) if first is None else first
    decided = np.arange(max(least_rows(target, error), first), rows + 1)
    below = np.append(confidence[order], 0.0)  # the next confidence after k rows, at k
    decided = decided[(decided == rows) | (below[decided] < below[decided - 1])]  # equal ones are decided together
    number_right = np.cumsum(right[order])[decided - 1]
    fails = binom.sf(number_right - 1, decided, target) > error
    passed = decided[: fails.argmax() if fails.any() else len(fails)]
    return float(below[passed[-1]]) if len(passed) else 1.0


def pools(predicted: np.ndarray, classes: int, enough: int) -> list[list[int]]:
    """The classes that share a threshold: each frequent one is alone, and all others are together.

    Classes are counted as predictions, so that nothing here depends on which rows are right.

    Args:
        predicted: (N,) class numbers.
        classes: number of classes.
        enough: the number of rows from which on a class is alone. If the others have fewer rows together, the least
            frequent class that is alone joins them.

    Returns:
        Lists of class numbers, the most frequent class first.
    """
    counts = np.bincount(predicted, minlength=classes)
    alone = [label for label in np.argsort(-counts, kind="stable").tolist() if counts[label] >= enough]
    others = sorted(set(range(classes)) - set(alone))
    while others and alone and counts[others].sum() < enough:
        others = sorted([*others, alone.pop()])
    return [*([label] for label in alone), *([others] if others else [])]


def find_thresholds(probabilities: np.ndarray, labels: np.ndarray, target: float) -> np.ndarray:
    """The thresholds of all classes (C,): with certainty 0.95, the precision of every pool is at least the target.

    The probability of an error is divided among the pools (Bonferroni). A precision that holds in each pool also holds
    among all decided texts. The threshold of a pool that does not reach the target is 1.

    Args:
        probabilities: (N, C), of independent rows that the models have not seen.
        labels: (N,), class numbers.
        target: the precision.
    """
    predicted, confidence = probabilities.argmax(1), probabilities.max(1).astype(float)
    found = pools(predicted, probabilities.shape[1], OWN * least_rows(target))
    thresholds = np.ones(probabilities.shape[1])
    for pool in found:
        rows = np.isin(predicted, pool)
        right = predicted[rows] == labels[rows]
        thresholds[pool] = lowest_threshold(confidence[rows], right, target, (1 - CERTAINTY) / len(found))
    return thresholds


def reachable_precision(probabilities: np.ndarray, labels: np.ndarray, target: float) -> float | None:
    """The highest precision below the target, in hundredths from 0.5 on, for which rows are decided; None if none is.

    Args:
        probabilities, labels, target: as of `find_thresholds`.
    """
    for hundredths in range(math.ceil(target * 100 - 1e-9) - 1, 49, -1):
        if (find_thresholds(probabilities, labels, hundredths / 100) < 1).any():
            return hundredths / 100
    return None


def one_row_of_each(groups: np.ndarray, seed: int) -> np.ndarray:
    """The places of one row of each group, drawn at random, in order: rows of one group are not independent.

    Args:
        groups: (N,) the group of each row.
        seed: of the draw.
    """
    order = np.random.default_rng(seed).permutation(len(groups))
    return np.sort(order[np.unique(groups[order], return_index=True)[1]])


# Thresholds of labels: the probability from which on a label is predicted, where a text can have several.

LEAST = 5  # rows of a label from which on it has a threshold of its own; chosen once and not tuned


def best_threshold(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """The threshold with the highest F1 of one label, between two probabilities; of equally good ones, nearest to 0.5.

    Args:
        probabilities: (N,) of the label.
        labels: (N,), 0 and 1, of which one is 1 at least.
    """
    order = np.argsort(-probabilities, kind="stable")
    sorted_values = probabilities[order].astype(float)
    count = np.arange(1, len(order) + 1)  # of predicted rows
    f1 = 2 * np.cumsum(labels[order]) / (count + labels.sum())
    following = np.append(sorted_values[1:], 0.0)
    possible = sorted_values > following  # equal probabilities are predicted together
    best = np.flatnonzero(possible & (f1 >= f1[possible].max() - 1e-12))
    middle = (sorted_values[best] + following[best]) / 2
    return float(middle[np.abs(middle - HALF).argmin()])


def find_label_thresholds(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The thresholds of C labels (C,).

    Args:
        probabilities: (N, C) of rows that the model has not seen.
        labels: (N, C), 0 and 1.
    """
    return np.array([
        best_threshold(probabilities[:, number], labels[:, number])
        if labels[:, number].sum() >= LEAST and (probabilities[:, number] > 0).any() else HALF
        for number in range(labels.shape[1])
    ])  # fmt: skip


def thresholds_help(decided: np.ndarray, probabilities: np.ndarray, labels: np.ndarray) -> bool:
    """Whether thresholds are better than 0.5: one of micro-F1 and macro-F1 is higher with them, and none is lower.

    Args:
        decided: (N, C) bool, cross-fitted decisions.
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
    """
    theirs, usual = (decision_scores(each, labels) for each in (decided, probabilities >= HALF))
    gains = [theirs[name] - usual[name] for name in ("micro_f1", "macro_f1")]
    return min(gains) >= 0 and max(gains) > 0


def chosen_decisions(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> tuple[np.ndarray, bool]:
    """The decisions (N, C) bool on rows that the model has not seen, and whether thresholds of the labels make them.

    They are those of `cross_decided` if these thresholds help, and otherwise those at 0.5.

    Args:
        probabilities, labels, groups, seed: as of `cross_decided`.
    """
    decided = cross_decided(probabilities, labels, groups, seed)
    helps = thresholds_help(decided, probabilities, labels)
    return (decided if helps else probabilities >= HALF), helps


def cross_decided(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> np.ndarray:
    """Decisions (N, C) bool: each half of the rows by the thresholds of the other half, so that no row decides itself.

    Args:
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
        groups: (N,) the group of each row, which is in one half; None for rows that are independent.
        seed: of the halves.
    """
    return probabilities >= cross_thresholds(probabilities, labels, groups, seed)


def cross_thresholds(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> np.ndarray:
    """The thresholds (N, C) of `cross_decided`, whose arguments it has: of each row those of the other half."""
    first = half_of_rows(len(labels) if groups is None else groups, seed)
    thresholds = np.full(labels.shape, HALF)
    for rows in (first, ~first):
        if rows.any():
            thresholds[rows] = find_label_thresholds(probabilities[~rows], labels[~rows])
    return thresholds


# Thresholds for a target precision where a text can have several labels: one for each label, by itself.


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
