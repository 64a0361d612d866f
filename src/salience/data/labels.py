"""Labels: their names in order, warnings about them, their numbers, and the weights of the classes."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from salience.data.multilabel import Label, is_multi_label
from salience.errors import InputError, counted, listed, nearest, quoted, rows_listed, unknown

WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")


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


def check_labels(labels: Sequence[Label], source: str) -> list[str]:
    """Warnings about labels that look alike, one line for each group of them.

    Args:
        labels: the label of each row, or the labels.
        source: the name of the data, for messages.

    Raises:
        InputError: there is one class only, or nearly every row has a class of its own.
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
    if len(labels) > 20 and 2 * len(counts) > len(labels):
        raise InputError(
            f"{source}: {len(counts):,} different labels in {len(labels):,} rows; is this the label column? "
            "Name it with --label"
        )
    alike = defaultdict(list)
    for name in label_names(counts):
        alike[visible(name)].append(name)
    return [
        f"{source}: {difference(names, counts)}; they are taken as different classes"
        for names in alike.values()
        if len(names) > 1
    ]


def difference(names: Sequence[str], counts: Mapping[str, int]) -> str:
    """How labels that look alike differ, as a part of a sentence."""
    if len({without_case_and_space(name) for name in names}) == 1:
        shown, what = [quoted(name) for name in names], "in case or space"
    else:
        # Written as escapes, since nobody could tell them apart otherwise.
        shown = [json.dumps(name[:60]) for name in names]
        what = "in case, space, Unicode normalisation or invisible characters"
    rows = (f"{name} ({counted(counts[label], 'row')})" for name, label in zip(shown, names, strict=True))
    return f"the labels {listed(rows)} differ only {what}"


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
            f"{quoted(label)} ({counted(len(at), 'time')}: {rows_listed(at, 3)}){nearest(label, names).rstrip('?')}"
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


def class_weights(spec: str | Mapping, labels: Sequence[str], names: Sequence[str]) -> list[float] | None:
    """The weights of the C classes in the loss; their mean over the training rows is 1. None for no weights.

    The loss of a row is multiplied by the weight of its label, or, for a mixed label, by the mean of the weights of
    both labels in their shares. The mean of a batch is taken over rows. So the loss is linear in the label, and is the
    same for a batch in one piece or in several.

    Args:
        spec: "none"; "auto" for rows / (classes * rows of the class); or "name=weight,name2=weight", where classes
            that are not named have the weight 1. A mapping of names to weights is accepted too; names with commas
            need it.
        labels: the label of each training row.
        names: the labels in the order of their numbers.

    Raises:
        InputError: an unknown name, or a weight that is not a positive number.
    """
    if spec == "none":
        return None
    counts = Counter(labels)
    if spec == "auto":
        weights = {name: 1 / max(counts[name], 1) for name in names}
    else:
        weights = dict.fromkeys(names, 1.0) | named_weights(spec, names)
    mean = sum(counts[name] * weights[name] for name in names) / len(labels)
    return [weights[name] / mean for name in names]


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
