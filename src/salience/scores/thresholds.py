"""Thresholds of labels: for a precision that holds with certainty, a recall, a cost, or the best F1 of several labels.

Precision is by learn then test: Angelopoulos et al. (2021), arXiv:2110.01052. The hypothesis that the precision above
a threshold is too low is tested from the highest threshold down, to the first one that is not rejected. The test is
that of Clopper and Pearson (1934), doi 10.1093/biomet/26.4.404. Selective classification with such a guarantee is that
of Geifman and El-Yaniv (2017), arXiv:1705.08500. Probabilities are of rows that the models have not seen, and for a
precision independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from salience.scores.calibration import half_of_rows
from salience.scores.intervals import wilson_interval
from salience.scores.metrics import HALF, decision_scores

CERTAINTY = 0.95
FIRST = 4  # the first candidate decides a quarter of the rows
OWN = 20  # a class has a threshold of its own from this multiple of `least_rows` on: see bench/own_thresholds.py
LEAST = 5  # rows of a label from which on it has a threshold of its own for F1; chosen once and not tuned


def least_rows(target: float, error: float = 1 - CERTAINTY) -> int:
    """The smallest number of rows that show a precision of `target` if all of them are right: target^n <= error."""
    return math.ceil(math.log(error) / math.log(target))


def lowest_threshold(
    confidence: np.ndarray, right: np.ndarray, target: float, error: float, first: int | None = None
) -> float:
    """The lowest threshold that passes, for N predictions; 1, which no confidence exceeds, if no candidate does.

    Candidate k decides the k rows of highest confidence, so its threshold is the confidence of the next row, or 0.
    Given that threshold, the k rows are independent samples from all texts above it, and the number of right ones is
    binomial. Candidates are tested in the order of k, from `first` rows on (a quarter of them), or from as many as can
    pass at all, to the first that fails. Where the order begins does not depend on which rows are right. With
    probability 1 - error, the precision above the returned threshold is at least the target, if precision does not
    fall as the threshold rises.
    """
    from scipy.stats import binom

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
    """The classes that share a threshold, the most frequent first: each with `enough` rows is alone, all others
    together.

    Classes are counted as predictions, so that nothing here depends on which rows are right. If the others have too
    few rows together, the least frequent class that is alone joins them.
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
    """The highest precision below the target, in hundredths from 0.5 on, for which rows are decided; None for none."""
    for hundredths in range(math.ceil(target * 100 - 1e-9) - 1, 49, -1):
        if (find_thresholds(probabilities, labels, hundredths / 100) < 1).any():
            return hundredths / 100
    return None


def one_row_of_each(groups: np.ndarray, seed: int) -> np.ndarray:
    """The places of one row of each group, sampled at random, in order: rows of one group are not independent."""
    order = np.random.default_rng(seed).permutation(len(groups))
    return np.sort(order[np.unique(groups[order], return_index=True)[1]])


@dataclass(frozen=True)
class Curve:
    """What one label is by its threshold, on N rows: K candidates, the highest first.

    The candidates are the distinct probabilities of the rows: rows of equal probability are predicted together.

    Attributes:
        values: (K,) float64, the lowest probability that is predicted.
        predicted, right: (K,) the rows that get the label, and those of them that have it.
        rows, support: N, and the rows that have the label.
    """

    values: np.ndarray
    predicted: np.ndarray
    right: np.ndarray
    rows: int
    support: int

    @classmethod
    def of(cls, probabilities: np.ndarray, has_label: np.ndarray) -> Curve:
        """The curve of the probabilities (N,) of a label, and whether each row has it (N,)."""
        order = np.argsort(-probabilities, kind="stable")
        values = probabilities[order].astype(float)
        last = np.flatnonzero(np.append(values[1:] != values[:-1], True))  # the last row of each probability
        return cls(values[last], last + 1, np.cumsum(has_label[order])[last], len(order), int(has_label.sum()))

    @property
    def following(self) -> np.ndarray:
        """The next lower candidate of each (K,), 0 of the last one: thresholds above it decide alike on these rows."""
        return np.append(self.values[1:], 0.0)

    def threshold(self, place: int) -> float:
        """The shortest number that decides as the candidate at `place`; before the first one, at -1, nothing is."""
        low, high = (self.values[0], 1.0) if place < 0 else (self.following[place], self.values[place])
        return shortest_above(float(low), min(float(high), math.nextafter(1, 0)))  # with 1 nothing is predicted

    def numbers(self, place: int) -> dict[str, Any]:
        """As of `label_numbers`."""
        predicted, right = (0, 0) if place < 0 else (int(self.predicted[place]), int(self.right[place]))
        return label_numbers(predicted, right, self.support, self.rows)

    def for_precision(self, probabilities: np.ndarray, has_label: np.ndarray, target: float, usual: int) -> int | None:
        """The lowest candidate whose precision is at least the target with certainty 0.95, as of `exceeded`."""
        limit = exceeded(probabilities, has_label, target, 1 - CERTAINTY, usual)
        return int((self.values > limit).sum()) - 1 if limit < 1 else None

    def for_recall(self, target: float) -> int:
        """The highest candidate whose recall on these rows is at least the target."""
        return int((self.right >= target * self.support - 1e-9).argmax())

    def costs(self, false_positive: float, false_negative: float) -> np.ndarray:
        """The mean cost of a row (K + 1,), the first where nothing is predicted, then of each candidate."""
        predicted, right = (np.append(0, each) for each in (self.predicted, self.right))
        return (false_positive * (predicted - right) + false_negative * (self.support - right)) / self.rows

    def for_cost(self, false_positive: float, false_negative: float) -> int:
        """The place with the lowest mean cost on these rows; -1 if nothing is to be predicted."""
        costs = self.costs(false_positive, false_negative)
        if self.values[0] >= math.nextafter(1, 0):  # then no threshold below 1 leaves all rows out
            costs[0] = np.inf
        best = np.flatnonzero(costs <= costs.min() + 1e-12) - 1
        return int(best[np.abs(np.append(self.values, 1.0)[best] - HALF).argmin()])  # place -1 is of the value 1


def shortest_above(low: float, high: float) -> float:
    """The number with the fewest decimals above `low` and not above `high`, and the nearest to `high` of these."""
    for digits in range(1, 17):
        found = math.floor(high * 10**digits) / 10**digits
        if low < found <= high:
            return found
    return high


def label_numbers(predicted: int, right: int, support: int, rows: int) -> dict[str, Any]:
    """Precision, recall and share of the predicted rows of a label, with Wilson's 95 % intervals; None if undefined.

    Each interval is pointwise: of this threshold alone, and not of the best one of many.
    """
    numbers: dict[str, Any] = {"rows": support, "predicted": predicted}
    for name, part, whole in (
        ("precision", right, predicted), ("recall", right, support), ("share", predicted, rows)
    ):  # fmt: skip
        numbers[name] = part / whole if whole else None
        numbers[f"{name}_interval"] = list(wilson_interval(part, whole)) if whole else None
    return numbers


def predicted_from(probabilities: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """The classes (...) that are predicted from (..., C), where some classes have a threshold (C,), the others NaN.

    It is the most probable of the classes that reach theirs; or else of those that have none.
    """
    reached = probabilities >= thresholds
    able = reached | (np.isnan(thresholds) & ~reached.any(-1, keepdims=True))
    return np.where(able, probabilities, -1).argmax(-1)


def best_threshold(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """The threshold (between two probabilities) with the highest F1 of one label; of equal ones, nearest to 0.5."""
    curve = Curve.of(probabilities, labels == 1)
    f1 = 2 * curve.right / (curve.predicted + curve.support)
    possible = curve.values > curve.following  # not one of 0
    best = np.flatnonzero(possible & (f1 >= f1[possible].max() - 1e-12))
    middle = (curve.values + curve.following)[best] / 2
    return float(middle[np.abs(middle - HALF).argmin()])


def find_label_thresholds(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The thresholds of several labels (C,) for F1."""
    return np.array([
        best_threshold(probabilities[:, number], labels[:, number])
        if labels[:, number].sum() >= LEAST and (probabilities[:, number] > 0).any() else HALF
        for number in range(labels.shape[1])
    ])  # fmt: skip


def thresholds_help(decided: np.ndarray, probabilities: np.ndarray, labels: np.ndarray) -> bool:
    """Whether one of micro-F1 and macro-F1 is higher with cross-fitted decisions than at 0.5, and none is lower."""
    theirs, usual = (decision_scores(each, labels) for each in (decided, probabilities >= HALF))
    gains = [theirs[name] - usual[name] for name in ("micro_f1", "macro_f1")]
    return min(gains) >= 0 and max(gains) > 0


def chosen_decisions(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> tuple[np.ndarray, bool]:
    """The decisions (N, C) bool about several labels, and whether thresholds of the labels make them.

    Each half of the rows, or of the groups, is decided by the thresholds of the other half, so that no row decides
    itself; if these thresholds do not help, all rows are decided at 0.5.
    """
    decided = probabilities >= cross_thresholds(probabilities, labels, groups, seed)
    helps = thresholds_help(decided, probabilities, labels)
    return (decided if helps else probabilities >= HALF), helps


def cross_thresholds(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> np.ndarray:
    """The thresholds (N, C) of each row, found on the other half of the rows."""
    first = half_of_rows(len(labels) if groups is None else groups, seed)
    thresholds = np.full(labels.shape, HALF)
    for rows in (first, ~first):
        if rows.any():
            thresholds[rows] = find_label_thresholds(probabilities[~rows], labels[~rows])
    return thresholds


def decided_at(probabilities: np.ndarray, thresholds: np.ndarray | float) -> np.ndarray:
    """The labels (..., C) bool whose probability is at least their threshold; with 1 a label is never predicted."""
    return (probabilities >= thresholds) & (np.asarray(thresholds) < 1)  # a sigmoid can be 1 in floating point


def exceeded(probabilities: np.ndarray, has_label: np.ndarray, target: float, error: float, usual: int) -> float:
    """The lowest threshold of one label, to be exceeded, whose precision is at least the target; 1 if there is none.

    As of `lowest_threshold`. The first candidate has a quarter of the rows that get the label without a threshold of
    its own, `usual`, or as many as can pass the test.
    """
    return lowest_threshold(probabilities.astype(float), has_label, target, error, -(-usual // FIRST))


def precision_thresholds(probabilities: np.ndarray, labels: np.ndarray, target: float) -> np.ndarray:
    """The thresholds of several labels (C,): with certainty 0.95, the precision of each is at least the target, else
    1.

    The probability of an error is divided among the labels (Bonferroni). No labels share a threshold: the test needs
    independent decisions, and those about several labels of one text are not.
    """
    error = (1 - CERTAINTY) / labels.shape[1]
    limits = [
        exceeded(each, own == 1, target, error, int((each >= HALF).sum()))
        for each, own in zip(probabilities.T, labels.T, strict=True)
    ]
    return np.nextafter(limits, 1)  # a label is predicted at its threshold, not only above it


def reachable_for_label(probabilities: np.ndarray, has_label: np.ndarray, target: float, usual: int) -> float | None:
    """The highest precision of one label below the target, in hundredths, that its rows can show; None for none."""
    for hundredths in range(math.ceil(target * 100 - 1e-9) - 1, 0, -1):
        if exceeded(probabilities, has_label, hundredths / 100, 1 - CERTAINTY, usual) < 1:
            return hundredths / 100
    return None


def reachable_precisions(probabilities: np.ndarray, labels: np.ndarray, target: float) -> list[float | None]:
    """The highest precision of each label below the target, in hundredths from 0.5 on; None if none is reached."""
    found: list[float | None] = [None] * labels.shape[1]
    for hundredths in range(50, math.ceil(target * 100 - 1e-9)):
        reached = precision_thresholds(probabilities, labels, hundredths / 100) < 1
        found = [hundredths / 100 if now else before for before, now in zip(found, reached, strict=True)]
    return found


def precision_numbers(
    probabilities: np.ndarray, labels: np.ndarray, thresholds: np.ndarray, names: Sequence[str], target: float
) -> dict[str, Any]:
    """What metrics.json says of the thresholds: each label with `label_numbers`.

    Where nothing reaches the target, "reachable" is the highest precision that is reached.
    """
    decided, reachable = decided_at(probabilities, thresholds), None
    each: dict[str, dict[str, Any]] = {}
    for number, name in enumerate(names):
        own, chosen = labels[:, number] == 1, decided[:, number]
        counted = label_numbers(int(chosen.sum()), int((chosen & own).sum()), int(own.sum()), len(labels))
        each[name] = {"threshold": float(thresholds[number]), **counted}
        if thresholds[number] == 1:
            reachable = reachable or reachable_precisions(probabilities, labels, target)
            each[name]["reachable"] = reachable[number]
    return {"target_precision": target, "certainty": CERTAINTY, "rows": len(labels), "labels": each}
