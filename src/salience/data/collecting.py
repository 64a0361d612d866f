"""From the rows of a file to texts and labels; rows without one are reported."""

from __future__ import annotations

from collections.abc import Iterable

from salience.data.columns import Columns
from salience.data.multilabel import joined_labels
from salience.data.texts import Texts
from salience.data.values import group_of, label_of, text_of, value_in
from salience.errors import InputError, counted, quoted, rows_listed, unknown


def collect(
    rows: Iterable[dict], columns: Columns, source: str, bad_rows: str = "error"
) -> tuple[Texts, list[str] | None, list[str]]:
    """The texts of all rows, with the numbers of their rows and their groups, and their labels.

    Args:
        rows: the rows by the names of the columns.
        columns: the columns that hold the texts, the label and the group.
        source: the name of the data, for messages.
        bad_rows: "error" refuses rows in which a text or the label is empty or missing, "skip" leaves them out.

    Returns:
        N texts, the names of their N labels (None if `columns` has no label), and warnings of one line each.

    Raises:
        InputError: a text or label is empty (unless such rows are left out) or of a wrong type; a row has several
            labels; no row is left.
    """
    if bad_rows not in ("error", "skip"):
        raise unknown("choice for --bad-rows", bad_rows, ["error", "skip"])
    roles = (
        (columns.text, text_of), (columns.text_pair, text_of), (columns.label, label_of), (columns.group, group_of)
    )  # fmt: skip
    readers = {name: kind for name, kind in roles if name is not None}
    complete: dict[str, list[str]] = {name: [] for name in readers}
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
    labels, second, groups = (
        None if name is None else complete[name] for name in (columns.label, columns.text_pair, columns.group)
    )
    if labels and (both := joined_labels(labels)):
        raise InputError(f"{source}: column {quoted(columns.label)}: {both}; salience gives one label a text")
    return Texts(complete[columns.text], second, rows=numbers, groups=groups), labels, warnings


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
