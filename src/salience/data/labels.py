"""Labels: their names in order, warnings about them, their numbers, and their weights in the loss."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import numpy as np

from salience.data.values import Label, is_multi_label, numbers_not_classes
from salience.errors import InputError, counted, listed, nearest, quoted, rows_listed, unknown

MISSING = ("NaN", "nan", "NA", "N/A", "n/a", "NULL", "null", "None")  # what programs write for a missing value
SEPARATORS = "|;,"  # what people write between several labels of a text
GRADES = 10  # half stars from 0.5 to 5 are classes; more numbers that are not whole are those of a regression
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,300}")  # Python refuses to read numbers of more than 4,300 digits


def label_names(labels: Iterable[str]) -> list[str]:
    """The names of the classes, sorted by value if all are whole numbers, as strings otherwise."""
    names = sorted(set(labels))
    return sorted(names, key=int) if all(WHOLE_NUMBER.fullmatch(name) for name in names) else names


def names_of(labels: Sequence[Label], several: Sequence[str] = ()) -> list[str]:
    return list(several) or label_names(each for label in labels for each in separate(label))


def separate(label: Label) -> tuple[str, ...]:
    return (label,) if isinstance(label, str) else label


def check_labels(
    labels: Sequence[Label], source: str, named: bool = False, described: Sequence[str] = ()
) -> list[str]:
    """Warnings about labels that are many, may mean a missing value, look alike, or consist of others: a line each.

    Args:
        named: whether the column of the labels was named, and not guessed.
        described: labels that exist by their descriptions.

    Raises:
        InputError: there is one class only, the labels are numbers of a regression, or nearly every row of a column
            that was guessed has a class of its own.
    """
    counts = Counter(each for label in labels for each in separate(label))
    if len({*counts, *described}) < 2:
        only = f"the only label is {quoted(next(iter(counts)))}" if counts else "no row has a label"
        raise InputError(f"{source}: {only}; a classifier needs at least two")
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

    def found(names: list[str], shown: Iterable[str], problem: str) -> str:
        each = listed(f"{name} ({counted(counts[label], 'row')})" for name, label in zip(shown, names, strict=True))
        return f"{source}: the labels {each} {problem}; they are taken as different classes"

    alike, equal = defaultdict(list), defaultdict(list)
    for name in label_names(counts):
        alike[visible(name)].append(name)
        if (value := number_in(name)) is not None and value.is_finite():
            equal[value].append(name)
    for names in alike.values():
        if len(names) > 1 and len({without_case_and_space(name) for name in names}) == 1:
            warnings.append(found(names, map(quoted, names), "differ only in case or space"))
        elif len(names) > 1:  # written as escapes, since nobody could tell them apart otherwise
            how = "differ only in case, space, Unicode normalisation or invisible characters"
            warnings.append(found(names, [json.dumps(name[:60]) for name in names], how))
    for names in equal.values():
        if len({visible(name) for name in names}) > 1:
            warnings.append(found(names, map(quoted, names), "are the same number"))
    for separator in () if is_multi_label(labels) else SEPARATORS:
        joined = [name for name in counts if separator in name and parts(name, separator) <= counts.keys()]
        if joined:
            such = f"{counted(len(joined), 'label')} such as {quoted(joined[0])} consist{'s' * (len(joined) == 1)}"
            warnings.append(
                f"{source}: {such} of other labels; if a text can have several, add --label-separator "
                f"{quoted(separator)}"
            )
    return warnings


def parts(name: str, separator: str) -> set[str]:
    return {part.strip() for part in name.split(separator)}


def without_case_and_space(name: str) -> str:
    return "".join(name.split()).casefold()


def visible(name: str) -> str:
    """A label as a reader sees it: one form of each character, without case, space and invisible characters.

    An accented letter may be one character or two (NFC or NFD), "fi" may be a ligature, and characters of the
    categories "format" and "control" are not shown at all.
    """
    name = unicodedata.normalize("NFKC", name)
    name = "".join(character for character in name if unicodedata.category(character) not in ("Cf", "Cc"))
    return unicodedata.normalize("NFKC", without_case_and_space(name))


def number_in(name: str) -> Decimal | None:
    """The number that a label is, exactly: floats are equal for different whole numbers above 2**53."""
    try:
        float(name)  # Decimal takes more words than "nan", such as "NaN1"
        return Decimal(name)
    except (ValueError, ArithmeticError):
        return None


def fraction_among(names: Iterable[str]) -> str | None:
    """The first label that is no whole number, where all are numbers, as of a regression. "nan" decides nothing."""
    values = {name: number_in(name) for name in names}
    if None in values.values():
        return None
    finite = {name: value for name, value in values.items() if value is not None and value.is_finite()}
    return next((name for name, value in finite.items() if value != value.to_integral_value()), None)


def encode(labels: Sequence[Label], names: Sequence[str], source: str, rows: Sequence[int]) -> np.ndarray:
    """The index of each label in `names` (N,) int64. Of multi-label rows, 0 and 1 (N, C) int64.

    Labels that are not among the names are refused, each with its `rows` and the known one that may be meant.
    """
    numbers = {name: index for index, name in enumerate(names)}
    unseen = defaultdict(list)
    for labels_of_row, row in zip(labels, rows, strict=True):
        for label in separate(labels_of_row):
            if label not in numbers:
                unseen[label].append(row)
    described = []
    for label, at in unseen.items():
        value, meant = number_in(label), nearest(label, names).strip()
        if meant:
            meant = f"; {meant[0].lower()}{meant[1:]}"
        if same := [name for name in names if value is not None and number_in(name) == value]:
            meant = f"; it is {quoted(same[0])} in the training data, write both in one way"
        described.append(f"{quoted(label)} ({counted(len(at), 'time')}: {rows_listed(at, 3)}{meant})")
    if described:
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


def loss_weights(spec: str | Mapping, labels: np.ndarray, names: Sequence[str]) -> list[float] | None:
    """The weights of the C classes, or of the C labels that a text can have, in the loss; None for no weights.

    With one label a text, the loss of a row is multiplied by the weight of its label, or, for a mixed label, by the
    mean of the weights of both labels in their shares, and the mean of the weights over the training rows is 1. The
    mean of a batch is taken over rows, so the loss is linear in the label, and is the same for a batch in one piece or
    in several. With several labels, the loss of a label is multiplied by its weight for the texts that have it, and by
    1 for the others, or by the mean of both in their shares for a mixed label.

    Args:
        spec: "none"; "auto"; "name=weight,name2=weight", where other names have the weight 1; or a mapping. "auto" is
            rows / (classes * rows of the class) of the classes that have rows, and 1 for the others; with several
            labels, it is texts without the label / texts with it, and 1 for a label that no text has, or every text.
        labels: of the texts that are trained on: class numbers (N,), or 0 and 1 (N, C).

    Raises:
        InputError: an unknown name, or a weight that is not a positive number.
    """
    if spec == "none":
        return None
    several, rows = labels.ndim == 2, len(labels)
    counts: list[int] = (labels.sum(0) if several else np.bincount(labels, minlength=len(names))).tolist()
    if spec == "auto" and several:
        return [(rows - count) / count if 0 < count < rows else 1.0 for count in counts]
    if spec == "auto":
        classes = sum(count > 0 for count in counts)
        return [rows / (classes * count) if count else 1.0 for count in counts]
    weights = list((dict.fromkeys(names, 1.0) | named_weights(spec, names)).values())
    if several:
        return weights
    mean = sum(count * weight for count, weight in zip(counts, weights, strict=True)) / rows
    return [weight / mean for weight in weights]


def named_weights(spec: str | Mapping, names: Sequence[str]) -> dict[str, float]:
    if isinstance(spec, Mapping):
        pairs = [(str(name), number) for name, number in spec.items()]
    elif not isinstance(spec, str):
        raise InputError(f"class weights {spec!r}: give none, auto, or the weight of each name")
    else:
        parts = [part.rpartition("=") for part in spec.split(",")]
        if not all(equals for _, equals, _ in parts):
            raise InputError(
                f"class weights {quoted(spec)}: give none, auto, or name=weight,name2=weight; names with commas are "
                "weighted in a yaml file, as `class_weights: {name: weight}`"
            )
        pairs = [(name.strip(), number.strip()) for name, _, number in parts]
    weights = {}
    for name, number in pairs:
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
