"""Rows out, as they come: csv, jsonl or parquet, in bounded memory and never half a file under its name."""

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


def check_output(output: Path | None, overwrite: bool) -> None:
    """Raises an `InputError` if nothing can be written there: unknown suffix, or a file that is to be kept."""
    if output is None:
        return
    if is_stream(output):
        if output.suffix.lower() == ".parquet":
            raise InputError(f"{output} is a pipe or a device, which parquet cannot be written to: write csv or jsonl")
        return
    if output.suffix.lower() not in OPENERS:
        raise unknown("suffix of --output", output.suffix or output.name, sorted(OPENERS))
    check_output_file(output, overwrite)


def is_stream(output: Path) -> bool:
    """Whether this is no file but a pipe, a device such as /dev/null, or something that is open already."""
    if OPEN_ALREADY.fullmatch(str(output)):
        return True
    try:
        mode = output.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def stream_target(output: Path) -> Path | int:
    """What to open for a pipe or device; what is open already, such as /dev/stdout, goes on where it stands."""
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
    """A function that writes rows to `output` by its suffix, or as csv to standard output.

    The file appears when the `with` ends well; a pipe or a device, such as /dev/stdout, is written directly, as csv
    unless its name ends in .jsonl.

    Args:
        columns: those of csv and parquet, all of them, with their types. In jsonl every row has its own.
        safe_csv: no text in a csv file begins as a formula of a spreadsheet does.
        note: told what could not be written as it was.

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
