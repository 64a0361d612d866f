"""Labels: their names in order, warnings about them, and their numbers."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from salience.data.values import Label, is_multi_label, numbers_not_classes
from salience.errors import InputError, counted, listed, nearest, quoted, rows_listed, unknown

MISSING = ("NaN", "nan", "NA", "N/A", "n/a", "NULL", "null", "None")  # what programs write for a missing value
GRADES = 10  # half stars from 0.5 to 5 are classes; more numbers that are not whole are those of a regression
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,300}")  # Python refuses to read numbers of more than 4,300 digits


def label_names(labels: Iterable[str]) -> list[str]:
    """The names of the classes, sorted by value if all are whole numbers, as strings otherwise."""
    names = sorted(set(labels))
    return sorted(names, key=int) if all(WHOLE_NUMBER.fullmatch(name) for name in names) else names


def names_of(labels: Sequence[Label], several: Sequence[str] = ()) -> list[str]:
    """The names of the classes of labels of either kind: as `label_names`, or the names of the columns of 0 and 1."""
    return list(several) or label_names(each for label in labels for each in separate(label))


def separate(label: Label) -> tuple[str, ...]:
    """The labels of a row of either kind."""
    return (label,) if isinstance(label, str) else label


def check_labels(labels: Sequence[Label], source: str, named: bool = False) -> list[str]:
    """Warnings about labels that are many, may mean a missing value, or look alike: a line each.

    Args:
        labels: the label of each row, or the labels.
        source: the name of the data, for messages.
        named: whether the column of the labels was named, and not guessed.

    Raises:
        InputError: there is one class only, there are more than `GRADES` labels that are numbers and not all whole, or
            nearly every row of a column that was guessed has a class of its own.
    """
    counts = Counter(each for label in labels for each in separate(label))
    if len(counts) == 1 and not is_multi_label(labels):
        raise InputError(
            f"{source}: every row has the label {quoted(labels[0])}; a classifier needs at least two classes"
        )
    if len(counts) < 2:
        raise InputError(
            f"{source}: the rows have {counted(len(counts), 'label')} in all; several labels a text need at least two"
        )
    if len(counts) > GRADES and (fraction := fraction_among(counts)) is not None:
        raise InputError(f"{source}: {numbers_not_classes(fraction)}")
    warnings = []
    if len(labels) > 20 and 2 * len(counts) > len(labels):
        many = f"{source}: {len(counts):,} different labels in {len(labels):,} rows"
        if not named:
            raise InputError(f"{many}; is this the label column? Name it with --label")
        warnings.append(f"{many}; a classifier learns little of a label from a row or two")
    warnings += [
        f"{source}: {counted(counts[name], 'row')} ha{'s' if counts[name] == 1 else 've'} the label {quoted(name)}; "
        "if that means missing, empty these cells and leave such rows out with --bad-rows skip"
        for name in MISSING
        if name in counts
    ]
    alike, equal = defaultdict(list), defaultdict(list)
    for name in label_names(counts):
        alike[visible(name)].append(name)
        if (value := number_in(name)) is not None and math.isfinite(value):
            equal[value].append(name)
    found = [difference(names, counts) for names in alike.values() if len(names) > 1]
    found += [
        f"the labels {with_rows(map(quoted, names), names, counts)} are the same number"
        for names in equal.values()
        if len({visible(name) for name in names}) > 1
    ]
    return warnings + [f"{source}: {each}; they are taken as different classes" for each in found]


def difference(names: Sequence[str], counts: Mapping[str, int]) -> str:
    """How labels that look alike differ, as a part of a sentence."""
    if len({without_case_and_space(name) for name in names}) == 1:
        shown, what = [quoted(name) for name in names], "in case or space"
    else:
        # Written as escapes, since nobody could tell them apart otherwise.
        shown = [json.dumps(name[:60]) for name in names]
        what = "in case, space, Unicode normalisation or invisible characters"
    return f"the labels {with_rows(shown, names, counts)} differ only {what}"


def with_rows(shown: Iterable[str], names: Iterable[str], counts: Mapping[str, int]) -> str:
    """Labels as they are shown, each with its number of rows."""
    return listed(f"{name} ({counted(counts[label], 'row')})" for name, label in zip(shown, names, strict=True))


def without_case_and_space(name: str) -> str:
    """The name in lower case and without white space, as names are compared that may be misspelt."""
    return "".join(name.split()).casefold()


def visible(name: str) -> str:
    """A label as a reader sees it: one form of each character, without case, space and invisible characters.

    An accented letter may be one character or two (NFC or NFD), "fi" may be a ligature, and characters of the
    categories "format" and "control", such as the zero-width space, are not shown at all.
    """
    name = unicodedata.normalize("NFKC", name)
    name = "".join(character for character in name if unicodedata.category(character) not in ("Cf", "Cc"))
    return unicodedata.normalize("NFKC", without_case_and_space(name))


def encode(labels: Sequence[Label], names: Sequence[str], source: str, rows: Sequence[int]) -> np.ndarray:
    """The number of each label (N,) int64: its index in `names`. Of rows with several labels, 0 and 1 (N, C) int64.

    Args:
        labels: N labels, or the labels of N rows.
        names: the labels of the training data, in the order of their numbers.
        source: the name of the data, for error messages.
        rows: the row of each label in the data, for error messages.

    Raises:
        InputError: labels that are not among the names.
    """
    numbers = {name: index for index, name in enumerate(names)}
    unseen = defaultdict(list)
    for labels_of_row, row in zip(labels, rows, strict=True):
        for label in separate(labels_of_row):
            if label not in numbers:
                unseen[label].append(row)
    if unseen:
        described = (
            f"{quoted(label)} ({counted(len(at), 'time')}: {rows_listed(at, 3)}{likely_meant(label, names)})"
            for label, at in unseen.items()
        )
        raise InputError(
            f"{source}: {counted(len(unseen), 'label')} that training never saw: {listed(described, 5)}; mend or "
            "remove these rows, or add such rows to the training data"
        )
    if not is_multi_label(labels):
        return np.array([numbers[label] for each in labels for label in separate(each)], np.int64)
    indicators = np.zeros((len(labels), len(names)), np.int64)
    for index, each in enumerate(labels):
        indicators[index, [numbers[label] for label in separate(each)]] = 1
    return indicators


def likely_meant(label: str, names: Sequence[str]) -> str:
    """Which of the known labels an unknown one may stand for, to be appended to what is said of it; else empty."""
    value = number_in(label)
    if same := [name for name in names if value is not None and number_in(name) == value]:
        return f"; it is {quoted(same[0])} in the training data, write both in one way"
    near = nearest(label, names).strip()
    return f"; {near[0].lower()}{near[1:]}" if near else ""


def number_in(name: str) -> float | None:
    """The number that a label is; None if it is none."""
    try:
        return float(name)
    except ValueError:
        return None


def fraction_among(names: Iterable[str]) -> str | None:
    """The first label that is no whole number, where all labels are numbers, as of a regression; else None.

    "nan" says that a number is missing, and decides nothing.
    """
    fractions = []
    for name in names:
        value = number_in(name)
        if value is None:
            return None
        if math.isfinite(value) and not value.is_integer():
            fractions.append(name)
    return fractions[0] if fractions else None


# The weights of classes, or of several labels, in the loss.


def loss_weights(spec: str | Mapping, labels: np.ndarray, names: Sequence[str]) -> list[float] | None:
    """The weights of the C classes, or of the C labels that a text can have, in the loss; None for no weights.

    Args:
        spec: as of `class_weights` and `label_weights`.
        labels: of the texts that are trained on: class numbers (N,), or 0 and 1 (N, C).
        names: the labels in the order of their numbers.

    Raises:
        InputError: an unknown name, or a weight that is not a positive number.
    """
    if labels.ndim == 2:
        return label_weights(spec, labels, names)
    return class_weights(spec, [names[number] for number in labels], names)


def class_weights(spec: str | Mapping, labels: Sequence[str], names: Sequence[str]) -> list[float] | None:
    """The weights of the C classes in the loss; their mean over the training rows is 1. None for no weights.

    The loss of a row is multiplied by the weight of its label, or, for a mixed label, by the mean of the weights of
    both labels in their shares. The mean of a batch is taken over rows. So the loss is linear in the label, and is the
    same for a batch in one piece or in several.

    Args:
        spec: "none"; "auto" for rows / (classes * rows of the class) of the classes that have rows, and 1 for the
            others; or "name=weight,name2=weight", where classes that are not named have the weight 1. A mapping of
            names to weights is accepted too; names with commas need it.
        labels: the label of each training row.
        names: the labels in the order of their numbers.

    Raises:
        InputError: an unknown name, or a weight that is not a positive number.
    """
    if spec == "none":
        return None
    counts = Counter(labels)
    if spec == "auto":
        return [len(labels) / (len(counts) * counts[name]) if counts[name] else 1.0 for name in names]
    weights = dict.fromkeys(names, 1.0) | named_weights(spec, names)
    mean = sum(counts[name] * weights[name] for name in names) / len(labels)
    return [weights[name] / mean for name in names]


def label_weights(spec: str | Mapping, labels: np.ndarray, names: Sequence[str]) -> list[float] | None:
    """The weights of the C labels in the loss, where a text can have several; None for no weights.

    The loss of a label is multiplied by its weight for the texts that have it, and by 1 for the others, or by the mean
    of both in their shares for a mixed label.

    Args:
        spec: as of `class_weights`; "auto" is texts without the label / texts with it, so that both count alike, and 1
            for a label that no text has, or every text.
        labels: (N, C), 0 and 1, of the training rows.
        names: the labels in the order of their columns.

    Raises:
        InputError: as `class_weights`.
    """
    if spec == "none":
        return None
    if spec != "auto":
        return list((dict.fromkeys(names, 1.0) | named_weights(spec, names)).values())
    having = labels.sum(0)
    return [(len(labels) - count) / count if 0 < count < len(labels) else 1.0 for count in having.tolist()]


def named_weights(spec: str | Mapping, names: Sequence[str]) -> dict[str, float]:
    """The weights that are written for some classes, by name. Raises as `class_weights`."""
    weights = {}
    for name, number in parted(spec):
        if name not in names:
            raise unknown("class in the class weights", name, names)
        try:
            weights[name] = float(number)
        except (TypeError, ValueError):
            weights[name] = math.nan
        if not 0 < weights[name] < math.inf:
            raise InputError(
                f"class weights: the weight of {quoted(name)} is {quoted(str(number))}; give a number above 0"
            )
    return weights


def parted(spec: str | Mapping) -> list[tuple[str, Any]]:
    """The names and weights as they are written. Raises an `InputError` if they are not written so."""
    if isinstance(spec, Mapping):
        return [(str(name), number) for name, number in spec.items()]
    if not isinstance(spec, str):
        raise InputError(f"class weights {spec!r}: give none, auto, or the weight of each name")
    pairs = [part.rpartition("=") for part in spec.split(",")]
    if not all(equals for _, equals, _ in pairs):
        raise InputError(
            f"class weights {quoted(spec)}: give none, auto, or name=weight,name2=weight; names with commas are "
            "weighted in a yaml file, as `class_weights: {name: weight}`"
        )
    return [(name.strip(), number.strip()) for name, _, number in pairs]
