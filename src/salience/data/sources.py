"""Whether two names are of the same data, so that what is read is neither used twice nor replaced."""

from __future__ import annotations

import os
from pathlib import Path

from salience.errors import InputError


def same_source(one: str, other: str) -> bool:
    """Whether two names are of one file, or of one data set on the hub."""
    try:
        return os.path.samefile(one, other)
    except OSError:  # one is not a file
        return one == other


def check_not_read(output: Path | None, *sources: str | None) -> None:
    """Raises an `InputError` if the file to write is one that is read: `--overwrite` does not mean that one."""
    if output is None or not output.is_file():  # a terminal can be both read and written
        return
    for source in sources:
        if source is not None and same_source(str(output), source):
            raise InputError(f"{output} is what is read, and is not replaced: choose another --output")
