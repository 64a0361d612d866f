"""Several labels in one row: reading them, and detecting labels that are joined in one text.

The labels of a row are a tuple, which is empty if none applies. They are read from a list, which JSON lines and
parquet have and which csv holds as JSON (`["joy", "fear"]`) or as Python writes it; from a text that a separator
divides; or from several columns of 0 and 1. A single label stays a text.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

from salience.errors import InputError, quoted

Label: TypeAlias = "str | tuple[str, ...]"  # of a row


def listed_values(value: object) -> list[Any] | None:
    """The values of a list, a tuple or a set, also of one that is written as a text; None for anything else.

    Raises:
        TypeError: it is an object with names.
    """
    found = _parsed(value.strip()) if isinstance(value, str) else value
    if isinstance(found, dict):
        raise TypeError(
            f"an object, {quoted(value)}, is no label; write the labels that apply as a list, or as columns of 0 and 1"
        )
    return list(found) if isinstance(found, list | tuple | set) else None


def _parsed(text: str) -> object:
    """What a text writes in brackets, as JSON or by Python; None if it is an ordinary text, such as "[other]"."""
    if not (text.startswith(("[", "{")) and text.endswith(("]", "}"))):
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def is_multi_label(labels: Sequence[Label]) -> bool:
    """Whether the labels of some rows, which are all of one kind, are several for each row."""
    return len(labels) > 0 and isinstance(labels[0], tuple)


def mixed_kinds(labels: Sequence[Label]) -> int | None:
    """The index of the first row that has a single label although other rows have lists; None if there is none."""
    several = [isinstance(label, tuple) for label in labels]
    return several.index(False) if any(several) and not all(several) else None


def joined_labels(labels: Sequence[str]) -> tuple[str, str] | None:
    """The separator, and a label with it, if most rows join several labels by | or ; or a comma; otherwise None.

    A separator alone is no proof: "Paris, France" and "Sport;Football" are one label each. But there, later parts
    never come first, while labels in a list (joy|fear, fear|anger, anger) are found at every position.
    """
    counts = Counter(labels)
    for separator in "|;,":
        joined = [label for label in counts if separator in label]
        if 2 * sum(counts[label] for label in joined) <= len(labels):
            continue
        parts = [[part.strip() for part in label.split(separator)] for label in counts]
        first = {each[0] for each in parts}
        later = {part for each in parts for part in each[1:]}
        if len(first | later) > 2 and 2 * len(first & later) > len(later):
            return separator, max(joined, key=lambda label: counts[label])
    return None


def label_columns(label: str | None, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that `--label` names: one, or several with commas between them; empty for None.

    Args:
        names: all columns of the file. A column whose own name has a comma is one.
    """
    if label is None:
        return ()
    parts = tuple(part.strip() for part in label.split(","))
    return (label,) if label in names or not all(parts) else parts


def check_same_kind(labels: Sequence[Label], data: str, other: Sequence[Label], source: str) -> None:
    """Checks that the rows of another file have one label each, or lists of labels, as the training rows have.

    Raises:
        InputError: they have not.
    """
    if len(other) and is_multi_label(labels) != is_multi_label(other):
        one, lists = "one label for each row", "lists of labels"
        its, theirs = (lists, one) if is_multi_label(labels) else (one, lists)
        raise InputError(f"{source} has {theirs}, and {data} has {its}: write the labels of both files in one way")
