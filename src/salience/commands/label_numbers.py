"""The labels of a row as numbers of a trained model's labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from salience.data.columns import Columns
from salience.data.texts import UNKNOWN
from salience.data.values import indicator_of, label_of, labels_of, value_in


def single_number(
    row: Mapping, columns: Columns, labels: Sequence[str], number: int, data: str
) -> tuple[int, str | None]:
    """The number of a row's label, `UNKNOWN` if it is missing or strange, and the label if it is strange.

    Args:
        labels: of the model.
        number, data: the number of the row and the name of the data, for error messages.
    """
    label = None if columns.label is None else value_in(row, columns.label, label_of, number, data)
    if label is None or label not in labels:
        return UNKNOWN, label
    return labels.index(label), None


def several_numbers(
    row: Mapping, columns: Columns, labels: Sequence[str], number: int, data: str
) -> tuple[list[int], str | None]:
    """As `single_number` where a text can have several labels: 0 and 1 for each of the model's, or all `UNKNOWN`."""
    unknown_labels = [UNKNOWN] * len(labels)
    if columns.label is None:
        return unknown_labels, None
    if columns.several:
        found = {name: value_in(row, name, indicator_of, number, data) for name in columns.several}
        names = None if None in found.values() else [name for name, value in found.items() if value == "1"]
    else:
        read = value_in(row, columns.label, partial(labels_of, separator=columns.separator), number, data)
        names = None if read is None else [read] if isinstance(read, str) else list(read)
    if names is None:
        return unknown_labels, None
    if strange := [name for name in names if name not in labels]:
        return unknown_labels, strange[0]
    return [int(label in names) for label in labels], None
