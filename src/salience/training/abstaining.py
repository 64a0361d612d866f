"""Abstention of a run: thresholds from the rows of its estimate, what they decide, and how it is told."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from salience.errors import InputError, listed, quoted
from salience.inference.abstaining import Thresholds
from salience.training.estimate_words import with_interval
from salience.training.folds import Folds
from salience.training.intervals import wilson_interval
from salience.training.temperature import with_temperature
from salience.training.thresholds import (
    CERTAINTY,
    find_thresholds,
    least_rows,
    one_row_of_each,
    reachable_precision,
)


def check_target(target: float, folds: Folds) -> None:
    """Checks, before anything is trained, that the rows of an estimate are enough for a target precision.

    Where a text can have several labels, the rows of the most frequent label must be enough for that one.

    Raises:
        InputError: it would be out of reach if all rows were right; says what is in reach.
    """
    predicted, labels = np.isin(folds.numbers, folds.predicted), folds.texts.known_labels
    several = labels.ndim == 2
    units = np.arange(len(labels)) if folds.groups is None else folds.groups
    tested = (labels[predicted] == 1).T if several else np.ones((1, predicted.sum()), bool)
    rows = max(len(np.unique(units[predicted][each])) for each in tested)
    error = (1 - CERTAINTY) / len(tested)
    if rows >= (least := least_rows(target, error)):
        return
    highest = math.floor(100 * error ** (1 / rows)) / 100 if rows else 0
    lower = f"give {highest:g} or less, or " if highest >= 0.5 else ""
    unit = "rows" if folds.groups is None else "groups"
    whose, have = ("of a label ", "the most frequent label has") if several else ("", "there are")
    raise InputError(
        f"--target-precision {target:g} needs at least {least:,} {unit} {whose}in the estimate, and {have} {rows:,}: "
        f"{lower}add rows"
    )


def abstention(
    probabilities: np.ndarray, labels: np.ndarray, names: Sequence[str], target: float,
    temperature: float = 1.0, groups: np.ndarray | None = None, seed: int = 0,
) -> tuple[Thresholds, dict[str, Any]]:  # fmt: skip
    """The thresholds of a run, and what metrics.json says of them.

    Args:
        probabilities: (N, C) of the rows of the estimate, before scaling.
        labels: (N,), class numbers.
        names: of the C classes.
        target: the precision.
        temperature: that is folded into the model; thresholds are of the probabilities after it.
        groups: (N,) the group of each row, one row of which counts; None for rows that are independent.
        seed: of the rows that are drawn from the groups.

    Returns:
        The thresholds, and their numbers: "target_precision", "certainty", "thresholds", those of
        `decided_scores`, and "reachable" if nothing is decided.
    """
    if groups is not None:
        rows = one_row_of_each(groups, seed)
        probabilities, labels = probabilities[rows], labels[rows]
    final = with_temperature(probabilities, temperature)
    values = find_thresholds(final, labels, target)
    thresholds = Thresholds(dict(zip(names, values.tolist(), strict=True)), target, CERTAINTY)
    numbers = thresholds.as_json() | decided_scores(final, labels, thresholds, names)
    if (values == 1).all():
        numbers["reachable"] = reachable_precision(final, labels, target)
    return thresholds, numbers


def decided_scores(
    probabilities: np.ndarray, labels: np.ndarray, thresholds: Thresholds, names: Sequence[str]
) -> dict[str, Any]:
    """How many rows are decided, and how many of these are right, with Wilson's 95 % intervals.

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.
        thresholds: of the classes.
        names: of the C classes.

    Returns:
        "rows" and "decided" as numbers, "coverage", the share that is decided, and "precision", the share of these
        that is right, each also with "_interval" appended. Without decided rows the precision is None.
    """
    decided = thresholds.decided(probabilities, names)
    right = int((probabilities.argmax(1) == labels)[decided].sum())
    rows, count = len(labels), int(decided.sum())
    return {
        "rows": rows, "decided": count,
        "coverage": count / rows, "coverage_interval": list(wilson_interval(count, rows)),
        "precision": right / count if count else None,
        "precision_interval": list(wilson_interval(right, count)) if count else None,
    }  # fmt: skip


def abstention_sentences(found: Mapping[str, Any]) -> list[str]:
    """What the thresholds decide, in a line, and what they gave on test rows, in another.

    Args:
        found: the entry of metrics.json.
    """
    target = f"a precision of {found['target_precision']:g}"
    if not found["decided"]:
        highest = found.get("reachable")
        instead = "not even 0.5" if highest is None else f"at most {highest:g}"
        return [
            f"{target} is out of reach: on {found['rows']:,} rows of the estimate, {instead} can be stated with 95 % "
            "certainty; predict decides no text, unless --no-abstain or --threshold says otherwise"
        ]
    never = [quoted(label) for label, value in found["thresholds"].items() if value == 1]
    none = f"; never decided: {listed(never, 5)}" if never else ""
    lines = [
        f"predict abstains below thresholds for {target}: it decides {with_interval(found, 'coverage')} of the texts, "
        f"by {found['rows']:,} rows of the estimate, whose models reach it with 95 % certainty{none}"
    ]
    if test := found.get("test"):
        precision = f", of which {with_interval(test, 'precision')} are right" if test["decided"] else ""
        share = with_interval(test, "coverage")
        lines.append(f"{test['decided']:,} of {test['rows']:,} test rows are decided ({share}){precision}")
    return lines
