"""Labels: their names in order, what looks wrong with them, their numbers, the weights of their classes."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from salience.data.examples import Examples
from salience.errors import InputError, counted, listed, nearest, quoted, rows_listed, unknown

WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")


def label_names(labels: Iterable[str]) -> list[str]:
    """The names of the classes: by value if all are whole numbers, by text otherwise."""
    names = sorted(set(labels))
    return sorted(names, key=int) if all(WHOLE_NUMBER.fullmatch(name) for name in names) else names


def check_labels(examples: Examples, source: str) -> list[str]:
    """Warnings for labels that look alike, a line for each group of them.

    Raises:
        InputError: there is one class only, or nearly every row has a class of its own.
    """
    counts = Counter(examples.labels)
    if len(counts) == 1:
        raise InputError(
            f"{source}: every row has the label {quoted(examples.labels[0])}; a classifier needs at least two classes"
        )
    if len(examples) > 20 and 2 * len(counts) > len(examples):
        raise InputError(
            f"{source}: {len(counts):,} different labels in {len(examples):,} rows; is this the label column? "
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
    """In what labels differ that look alike, in words."""
    if len({without_case_and_space(name) for name in names}) == 1:
        shown, what = map(quoted, names), "in case or space"
    else:
        # Written as escapes, since nobody could tell them apart otherwise.
        shown = (json.dumps(name[:60]) for name in names)
        what = "in case, space, Unicode normalisation or invisible characters"
    rows = (f"{name} ({counted(counts[label], 'row')})" for name, label in zip(shown, names, strict=True))
    return f"the labels {listed(rows)} differ only {what}"


def without_case_and_space(name: str) -> str:
    return "".join(name.split()).casefold()


def visible(name: str) -> str:
    """What a reader sees of a label: one form of each character, and none that is invisible.

    An accented letter may be one character or two (NFC or NFD), "fi" may be a ligature, and characters of the
    categories "format" and "control", such as the zero-width space, are not shown at all.
    """
    name = unicodedata.normalize("NFKC", name)
    name = "".join(character for character in name if unicodedata.category(character) not in ("Cf", "Cc"))
    return unicodedata.normalize("NFKC", without_case_and_space(name))


def encode(labels: Sequence[str], names: Sequence[str], source: str, rows: Sequence[int]) -> list[int]:
    """The number of each label: its place in `names`.

    Args:
        rows: where the labels stand in their source, for the message.

    Raises:
        InputError: labels that are not among the names, which are those that training saw.
    """
    number = {name: index for index, name in enumerate(names)}
    strange = defaultdict(list)
    for label, row in zip(labels, rows, strict=True):
        if label not in number:
            strange[label].append(row)
    if strange:
        found = (
            f"{quoted(label)} ({counted(len(at), 'time')}: {rows_listed(at, 3)}){nearest(label, names).rstrip('?')}"
            for label, at in strange.items()
        )
        raise InputError(
            f"{source}: {counted(len(strange), 'label')} that training never saw: {listed(found, 5)}; mend or remove "
            "these rows, or add such rows to the training data"
        )
    return [number[label] for label in labels]


def class_weights(spec: str | Mapping, labels: Sequence[str], names: Sequence[str]) -> list[float] | None:
    """One weight a class, such that the training rows' mean weight is 1 and the loss keeps its scale.

    A row's loss is multiplied by its label's weight, a mixed label's by the mean of its two, and the batch's mean is
    taken over rows: linear in the label, and the same for a batch in one piece or in several.

    Args:
        spec: "none"; "auto", rows / (classes * rows of the class); or "name=weight,name2=weight", the others 1.
            From Python and in a yaml file also names to weights, which names with commas need.
        labels: those of the training rows.

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
    """Names and weights as they are written."""
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
