"""Writes rows as csv, tsv, jsonl, parquet or xlsx in bounded memory; a file appears only when it is complete."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from salience.data.reading import DELIMITED, Form
from salience.errors import InputError, counted, quoted, unknown
from salience.files import check_output_file, whole_file
from salience.work import hidden

if TYPE_CHECKING:
    import pyarrow

Write = Callable[[list[dict[str, Any]]], None]  # writes some rows
Columns = Mapping[str, "pyarrow.DataType | str"]  # a type of arrow, or its name
Target = Path | int  # a file's name, or the number of one that is open
Opened = Callable[[Target, Columns, bool, Callable[[str], None], Form], AbstractContextManager[Write]]

# Spreadsheets take a cell that begins so as a formula and run it, also without the quotation marks of csv. The last
# four are the wide forms of the first.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
OPEN_ALREADY = re.compile(r"/dev/(stdout|stderr)|(?:/dev/fd|/proc/self/fd)/([0-9]+)")
STANDARD = {"stdout": 1, "stderr": 2}


def plain(value: Any) -> Any:
    """A value for csv and JSON: an arrow scalar becomes Python values of its parts, or a text."""
    if not hasattr(value, "as_py"):
        return value
    from salience.data.tables import plain as plain_scalar

    return plain_scalar(value)


def cells(row: dict[str, Any], columns: Collection[str]) -> list:
    for name in row:
        if name not in columns:
            raise InputError(f"the name {quoted(name)} was not there when the columns were read; run again")
    return [row.get(name) for name in columns]


def csv_writer(file: TextIO, columns: Collection[str], safe: bool, form: Form) -> Write:
    """Writes rows as csv; `safe` puts an apostrophe before a text that a spreadsheet would take for a formula.

    Lists and objects are written as JSON. The header is written with the first rows, not before they are valid.
    """
    # Unquoted, a name with a mark of these could be taken for several columns.
    misleading = any(mark in name for name in columns for mark in ",;\t" if mark != form.delimiter)
    writer = csv.writer(file, delimiter=form.delimiter, quoting=csv.QUOTE_ALL if misleading else csv.QUOTE_MINIMAL)
    header = [list(columns)]

    def cell(value: Any) -> Any:
        value = simple(value)
        return f"'{value}" if safe and isinstance(value, str) and value.startswith(FORMULA) else value

    def write(rows: list[dict[str, Any]]) -> None:
        while header:
            file.write(form.declaration)
            writer.writerow(map(cell, header.pop()))
        writer.writerows(map(cell, cells(row, columns)) for row in rows)

    return write


def simple(value: Any) -> Any:
    """A value for a cell: lists and objects are JSON."""
    value = plain(value)
    return as_json(value) if isinstance(value, (dict, list, tuple)) else value


@contextmanager
def opened_csv(
    target: Target, columns: Columns, safe: bool, note: Callable[[str], None], form: Form
) -> Iterator[Write]:  # fmt: skip
    try:
        with open(target, "w", encoding=form.encoding, newline="") as file:
            yield csv_writer(file, columns, safe, form)
    except UnicodeEncodeError as error:
        raise InputError(
            f"the encoding of the data, {form.encoding}, has no {quoted(error.object[error.start])}, which is to be "
            "written: save the data as UTF-8, or name an --output that ends in .jsonl"
        ) from error


@contextmanager
def opened_xlsx(
    target: Target, columns: Columns, safe: bool, note: Callable[[str], None], form: Form
) -> Iterator[Write]:  # fmt: skip
    from salience.data.sheets import Sheet

    sheet = Sheet(list(columns))
    sheet.add(list(columns))

    def write(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            sheet.add([simple(value) for value in cells(row, columns)])

    try:
        yield write
        assert isinstance(target, Path)  # no stream is written to
        sheet.save(target, note)
    finally:
        sheet.close()


@contextmanager
def opened_jsonl(
    target: Target, columns: Columns, safe: bool, note: Callable[[str], None], form: Form
) -> Iterator[Write]:  # fmt: skip
    """Each row has its own names. NaN and infinite numbers, unknown to JSON, are null."""
    changed = 0  # rows

    def line(row: dict[str, Any]) -> str:
        nonlocal changed
        try:
            return json.dumps(row, ensure_ascii=False, allow_nan=False, default=json_value)
        except ValueError:  # rare, so that rows are not searched for them beforehand
            changed += 1
            return json.dumps(without_nan(row), ensure_ascii=False, allow_nan=False, default=json_value)

    with open(target, "w", encoding="utf-8") as file:
        yield lambda rows: file.writelines(line(row) + "\n" for row in rows)
    if changed:
        note(f"{counted(changed, 'row')} with NaN or infinite values, for which JSON has no number: written as null")


def json_value(value: Any) -> Any:
    return plain(value) if hasattr(value, "as_py") else str(value)


def as_json(value: Any) -> str:
    """A list, an object or another value as a text of a column."""
    return json.dumps(without_nan(value), ensure_ascii=False, default=json_value)


def without_nan(value: Any) -> Any:
    """The value with None for every float that is NaN or infinite."""
    value = plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: without_nan(part) for name, part in value.items()}
    return [without_nan(part) for part in value] if isinstance(value, (list, tuple)) else value


@contextmanager
def opened_parquet(
    target: Target, columns: Columns, safe: bool, note: Callable[[str], None], form: Form
) -> Iterator[Write]:  # fmt: skip
    """In a column of texts, a value of another type is JSON."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    def text(value: Any) -> str | None:
        return value if value is None or isinstance(value, str) else as_json(value)

    def write(rows: list[dict[str, Any]]) -> None:
        arrays, table = [], [cells(row, columns) for row in rows]
        for place, (name, kind) in enumerate(zip(schema.names, schema.types, strict=True)):
            values = [row[place] for row in table]
            try:
                arrays.append(pyarrow.array(map(text, values) if pyarrow.types.is_string(kind) else values, kind))
            except (pyarrow.ArrowException, OverflowError, TypeError, ValueError) as error:
                raise InputError(
                    f"the column {quoted(name)} holds a value that parquet's type {kind} cannot ({error}): name an "
                    "--output that ends in .jsonl"
                ) from error
        writer.write_table(pyarrow.table(arrays, schema=schema))

    try:
        schema = pyarrow.schema(list(columns.items()))
        with ParquetWriter(target, schema) as writer:
            yield write
    except pyarrow.ArrowException as error:
        raise InputError(f"parquet cannot hold a column ({error}): name an --output that ends in .jsonl") from error


OPENERS: dict[str, Opened] = {
    ".csv": opened_csv, ".tsv": opened_csv, ".jsonl": opened_jsonl, ".parquet": opened_parquet, ".xlsx": opened_xlsx,
}  # fmt: skip


def check_output(output: Path | None, overwrite: bool, safe_csv: bool = False) -> None:
    """Raises an `InputError` if nothing can be written there, or not so."""
    if output is None:
        return
    suffix = output.suffix.lower()
    if safe_csv and suffix in (".jsonl", ".parquet", ".xlsx"):
        raise InputError(f"--safe-csv is about csv files, not {output}: leave it out, or name the output with .csv")
    if is_stream(output):
        if suffix in (".parquet", ".xlsx"):
            raise InputError(f"{output} is a pipe or a device, which takes no {suffix[1:]}: write csv or jsonl")
        return
    if suffix not in OPENERS:
        raise unknown("suffix of --output", output.suffix or output.name, sorted(OPENERS))
    check_output_file(output, overwrite)
    if suffix == ".xlsx":
        from salience.data.sheets import check_installed

        check_installed(output)


def is_stream(output: Path) -> bool:
    """Whether the output is not a file but a pipe, a device such as /dev/null, or an open stream."""
    if OPEN_ALREADY.fullmatch(str(output)):
        return True
    try:
        mode = output.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def standard_output() -> TextIO:
    """Standard output, made ready for data: they are UTF-8 as in a file, whatever the locale says."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="")
    return sys.stdout


@contextmanager
def writing(
    output: Path | None,
    overwrite: bool = False,
    columns: Columns | None = None,
    safe_csv: bool = False,
    note: Callable[[str], None] = print,
    form: Form | None = None,
) -> Iterator[Write]:
    """Gives a function that writes rows to `output`, in the format of its suffix, or as csv to standard output (None).

    The file appears when the `with` ends without an error. A pipe or a device, such as /dev/stdout, is written
    directly, as csv unless its name ends in .jsonl.

    Args:
        columns: all columns with their types, for all formats but jsonl. In jsonl every row has its own names.
        safe_csv: write texts in csv so that no spreadsheet takes them for a formula.
        note: is called with a line if values had to be changed.
        form: of csv and tsv files, as of `form_for`; None: divided by commas, or tabs, in UTF-8.

    Raises:
        InputError: as `check_output`; or a row does not fit the columns.
    """
    check_output(output, overwrite)
    columns = columns or {}
    if output is None:
        printed = csv_writer(standard_output(), columns, safe_csv, Form())

        def write(rows: list[dict[str, Any]]) -> None:
            with hidden():
                printed(rows)
                sys.stdout.flush()

        yield write
        return
    form = form or Form(DELIMITED.get(output.suffix.lower(), ","))
    opened = OPENERS.get(output.suffix.lower(), opened_csv)
    if is_stream(output):
        number = OPEN_ALREADY.fullmatch(str(output))  # of an open stream, a copy of its descriptor is written to
        target = output if number is None else os.dup(STANDARD.get(number[1]) or int(number[2]))
        with opened(target, columns, safe_csv, note, form) as write_to:
            yield write_to
        return
    with whole_file(output) as unfinished, opened(unfinished, columns, safe_csv, note, form) as write_to:
        yield write_to
