"""From the rows of a file to texts and labels; rows without one are reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from salience.data.columns import Columns
from salience.data.multilabel import Label, joined_labels, mixed_kinds
from salience.data.texts import Texts
from salience.data.values import group_of, indicator_of, labels_of, text_of, value_in
from salience.errors import InputError, counted, quoted, rows_listed, unknown


def collect(
    rows: Iterable[dict], columns: Columns, source: str, bad_rows: str = "error"
) -> tuple[Texts, list[Label] | None, list[str]]:
    """The texts of all rows, with the numbers of their rows and their groups, and their labels.

    Args:
        rows: the rows by the names of the columns.
        columns: the columns that hold the texts, the label and the group.
        source: the name of the data, for messages.
        bad_rows: "error" refuses rows in which a text or the label is empty or missing, "skip" leaves them out.

    Returns:
        N texts, the names of their N labels (None if `columns` has no label), and warnings of one line each. Where a
        row can have several labels, each of the N is a tuple.

    Raises:
        InputError: a text or label is empty (unless such rows are left out) or of a wrong type; some rows have a list
            of labels and others have not; labels seem to be joined by a separator that is not named; no row is left.
    """
    if bad_rows not in ("error", "skip"):
        raise unknown("choice for --bad-rows", bad_rows, ["error", "skip"])
    readers = readers_of(columns)
    complete: dict[str, list[Any]] = {name: [] for name in readers}
    empty: dict[str, list[int]] = {name: [] for name in readers}
    numbers: list[int] = []

    number = 0
    for number, row in enumerate(rows, 1):
        values = [(name, value_in(row, name, kind, number, source)) for name, kind in readers.items()]
        present = [(name, value) for name, value in values if value is not None]
        if len(present) == len(values):
            numbers.append(number)
            for name, value in values:
                assert value is not None
                complete[name].append(value)
        for name, value in values:
            if value is None:
                empty[name].append(number)

    warnings = report_empty(empty, number, source, bad_rows)
    second, groups = (None if name is None else complete[name] for name in (columns.text_pair, columns.group))
    texts = Texts(complete[columns.text], second, rows=numbers, groups=groups)
    return texts, labels_in(complete, columns, numbers, source), warnings


def readers_of(columns: Columns) -> dict[str, Callable[[object], Any]]:
    """What reads the values of each column, by its name."""
    labels: list[tuple[str | None, Callable[[object], Any]]] = [(name, indicator_of) for name in columns.several]
    labels = labels or [(columns.label, partial(labels_of, separator=columns.separator))]
    roles: list[tuple[str | None, Callable[[object], Any]]] = [
        (columns.text, text_of), (columns.text_pair, text_of), *labels, (columns.group, group_of)
    ]  # fmt: skip
    return {name: kind for name, kind in roles if name is not None}


def labels_in(complete: dict[str, list[Any]], columns: Columns, numbers: list[int], source: str) -> list[Label] | None:
    """The labels of the rows from the values of their columns. Raises as `collect`.

    Args:
        complete: the values by column.
        numbers: of the rows.
    """
    if columns.several:
        indicated = zip(*(complete[name] for name in columns.several), strict=True)
        return [tuple(name for name, value in zip(columns.several, row, strict=True) if value == "1")
                for row in indicated]  # fmt: skip
    if columns.label is None:
        return None
    labels: list[Label] = complete[columns.label]
    if (single := mixed_kinds(labels)) is not None:
        raise InputError(
            f"{source}: row {numbers[single]}, column {quoted(columns.label)}: {quoted(labels[single])} is no list, "
            'and other rows have lists of labels; write it as a list with one label, such as ["joy"]'
        )
    one = [label for label in labels if isinstance(label, str)]
    if one and (both := joined_labels(one)):
        raise InputError(
            f"{source}: column {quoted(columns.label)}: most rows have several labels, joined by {quoted(both[0])}, "
            f"such as {quoted(both[1])}; add --label-separator {quoted(both[0])}"
        )
    return labels


def report_empty(empty: dict[str, list[int]], total: int, source: str, bad_rows: str) -> list[str]:
    """The warning about rows that are left out, if there are any.

    Args:
        empty: the numbers of the rows without a value, by column.
        total: the number of all rows.

    Raises:
        InputError: such rows are refused, or there are no others.
    """
    count = len(set().union(*empty.values()))
    if not count:
        return []
    parts = (f"{len(rows):,} in {quoted(name)} ({rows_listed(rows)})" for name, rows in empty.items() if rows)
    rows = f"{counted(count, 'row')} of {total:,} with an empty or missing value: {'; '.join(parts)}"
    if bad_rows == "error":
        raise InputError(f"{source}: {rows}; fill them in, or leave such rows out with --bad-rows skip")
    if count == total:
        raise InputError(f"{source}: {rows}; no row is left, are these the right columns?")
    return [f"{source}: left out {rows}"]
