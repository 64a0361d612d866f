"""Writes rows as csv, jsonl or parquet in bounded memory; a file appears only when it is complete."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from salience.data.writers import OPENERS, Columns, Write, csv_writer, opened_csv
from salience.errors import InputError, unknown
from salience.files import whole_file
from salience.outputs import check_output_file

OPEN_ALREADY = re.compile(r"/dev/stdout|/dev/stderr|(?:/dev/fd|/proc/self/fd)/([0-9]+)")
STANDARD = {"stdout": 1, "stderr": 2}


def check_output(output: Path | None, overwrite: bool, safe_csv: bool = False) -> None:
    """Raises an `InputError` if nothing can be written there, or not so.

    It has an unknown suffix, is a file that must be kept, or is no csv file where one with `safe_csv` is asked for.
    """
    if output is None:
        return
    if safe_csv and output.suffix.lower() in (".jsonl", ".parquet"):
        raise InputError(f"--safe-csv is about csv files, not {output}: leave it out, or name the output with .csv")
    if is_stream(output):
        if output.suffix.lower() == ".parquet":
            raise InputError(f"{output} is a pipe or a device, which parquet cannot be written to: write csv or jsonl")
        return
    if output.suffix.lower() not in OPENERS:
        raise unknown("suffix of --output", output.suffix or output.name, sorted(OPENERS))
    check_output_file(output, overwrite)


def is_stream(output: Path) -> bool:
    """Whether the output is not a file but a pipe, a device such as /dev/null, or an open stream."""
    if OPEN_ALREADY.fullmatch(str(output)):
        return True
    try:
        mode = output.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def stream_target(output: Path) -> Path | int:
    """What to open for a pipe or device. Of an open stream, such as /dev/stdout, a copy of its descriptor."""
    number = OPEN_ALREADY.fullmatch(str(output))
    return output if number is None else os.dup(int(number[1] or STANDARD[output.name]))


@contextmanager
def writing(
    output: Path | None,
    overwrite: bool = False,
    columns: Columns | None = None,
    safe_csv: bool = False,
    note: Callable[[str], None] = print,
) -> Iterator[Write]:
    """Gives a function that writes rows to `output`, in the format of its suffix, or as csv to standard output.

    The file appears when the `with` ends without an error. A pipe or a device, such as /dev/stdout, is written
    directly, as csv unless its name ends in .jsonl.

    Args:
        output: the file to write; None is standard output.
        overwrite: replace an existing file.
        columns: all columns with their types, for csv and parquet. In jsonl every row has its own names.
        safe_csv: write texts in csv so that no spreadsheet takes them for a formula.
        note: is called with a line if values had to be changed.

    Raises:
        InputError: as `check_output`; or a row does not fit the columns.
    """
    check_output(output, overwrite)
    columns = columns or {}
    if output is None:
        yield csv_writer(sys.stdout, columns, safe_csv)
        return
    if is_stream(output):
        opened = OPENERS.get(output.suffix.lower(), opened_csv)
        with opened(stream_target(output), columns, safe_csv, note) as write:
            yield write
        return
    with whole_file(output) as unfinished, OPENERS[output.suffix.lower()](
        unfinished, columns, safe_csv, note
    ) as write:  # fmt: skip
        yield write
