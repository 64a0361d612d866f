"""Rows out, as they come: csv, jsonl or parquet, in bounded memory and never half a file under its name."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from salience.errors import InputError, unknown

Write = Callable[[list[dict[str, Any]]], None]  # writes some rows


def check_output(output: Path | None, overwrite: bool) -> None:
    """Raises an `InputError` if nothing can be written there: unknown suffix, or a file that is to be kept."""
    if output is None or output.is_char_device():
        return
    if output.suffix.lower() not in OPENERS:
        raise unknown("suffix of --output", output.suffix or output.name, sorted(OPENERS))
    check_file(output, overwrite)


def check_file(output: Path | None, overwrite: bool) -> None:
    """Raises an `InputError` if a file that is to be kept stands there, or a folder."""
    check_free(output, overwrite)
    if output is not None and output.is_dir():
        raise InputError(f"{output} is a folder: name a file in it, or another one")


def check_free(output: Path | None, overwrite: bool) -> None:
    """Raises an `InputError` if a file or folder stands there that is to be kept."""
    if output is not None and output.exists() and not overwrite:
        raise InputError(f"{output} exists: choose another --output, or --overwrite it")


@contextmanager
def writing(output: Path | None, overwrite: bool = False) -> Iterator[Write]:
    """A function that writes rows to `output` by its suffix, or as csv to standard output.

    The file appears when the `with` ends well; a device such as /dev/stdout is written directly.

    Raises:
        InputError: as `check_output`.
    """
    check_output(output, overwrite)
    if output is None:
        yield csv_writer(sys.stdout)
        return
    if output.is_char_device():
        with open(output, "w", encoding="utf-8", newline="") as file:
            yield csv_writer(file)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    unfinished = output.with_name(f".{output.name}.unfinished")
    try:
        with OPENERS[output.suffix.lower()](unfinished) as write:
            yield write
        os.replace(unfinished, output)
    finally:
        unfinished.unlink(missing_ok=True)


def csv_writer(file: TextIO) -> Write:
    """The columns of the first row are the header."""
    writer = None

    def write(rows: list[dict[str, Any]]) -> None:
        nonlocal writer
        if writer is None:
            writer = csv.DictWriter(file, list(rows[0]), extrasaction="ignore")
            writer.writeheader()
        writer.writerows(rows)

    return write


@contextmanager
def opened_csv(file: Path) -> Iterator[Write]:
    with file.open("w", encoding="utf-8", newline="") as opened:
        yield csv_writer(opened)


@contextmanager
def opened_jsonl(file: Path) -> Iterator[Write]:
    with file.open("w", encoding="utf-8") as opened:
        yield lambda rows: opened.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)


@contextmanager
def opened_parquet(file: Path) -> Iterator[Write]:
    """The types of the first rows are the columns'."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    writer = None

    def write(rows: list[dict[str, Any]]) -> None:
        nonlocal writer
        try:
            table = pyarrow.Table.from_pylist(rows, schema=writer.schema if writer else None)
        except pyarrow.ArrowException as error:
            raise InputError(f"a column changes its type, which parquet cannot hold ({error}): write jsonl") from error
        if writer is None:
            writer = ParquetWriter(file, table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


OPENERS = {".csv": opened_csv, ".jsonl": opened_jsonl, ".parquet": opened_parquet}
