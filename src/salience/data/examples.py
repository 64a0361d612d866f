"""Rows turned into texts and labels, and the rows that have none named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from salience.data.columns import Columns
from salience.data.multilabel import joined_labels
from salience.data.values import label_of, text_of, value_in
from salience.errors import InputError, counted, quoted, rows_listed, unknown


@dataclass(frozen=True)
class Examples:
    texts: list[str]
    pairs: list[str] | None  # the second texts
    labels: list[str] | None
    rows: list[int]  # where each stood in its source: 1 is the first row below the header

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, indices: Sequence[int]) -> Examples:
        """The examples at `indices`, in that order."""

        def chosen(values: list | None) -> list | None:
            return None if values is None else [values[index] for index in indices]

        return Examples(chosen(self.texts), chosen(self.pairs), chosen(self.labels), chosen(self.rows))


def collect(
    rows: Iterable[dict], columns: Columns, source: str, bad_rows: str = "error"
) -> tuple[Examples, list[str]]:
    """The examples of all rows, and warnings, a line each.

    Args:
        bad_rows: what happens to rows in which a text or the label is empty or missing: "error" or "skip".

    Raises:
        InputError: a text or label is empty (unless such rows are skipped) or of a wrong kind; a row has several
            labels; no row is left.
    """
    if bad_rows not in ("error", "skip"):
        raise unknown("choice for --bad-rows", bad_rows, ["error", "skip"])
    readers = {columns.text: text_of, columns.text_pair: text_of, columns.label: label_of}
    readers.pop(None, None)
    found: dict[str, list[str]] = {name: [] for name in readers}
    empty: dict[str, list[int]] = {name: [] for name in readers}
    numbers: list[int] = []

    number = 0
    for number, row in enumerate(rows, 1):
        values = [(name, value_in(row, name, kind, number, source)) for name, kind in readers.items()]
        missing = [name for name, value in values if value is None]
        for name in missing:
            empty[name].append(number)
        if not missing:
            numbers.append(number)
            for name, value in values:
                found[name].append(value)

    warnings = report_empty(empty, number, source, bad_rows)
    labels = found.get(columns.label)
    if labels and (both := joined_labels(labels)):
        raise InputError(f"{source}: column {quoted(columns.label)}: {both}; salience gives one label a text")
    return Examples(found[columns.text], found.get(columns.text_pair), labels, numbers), warnings


def report_empty(empty: dict[str, list[int]], total: int, source: str, bad_rows: str) -> list[str]:
    """The warning about rows that were dropped, if any.

    Raises:
        InputError: such rows are errors, or there are no others.
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
