"""Whether a command can write its output: known before any work is done."""

from __future__ import annotations

import os
from pathlib import Path

from salience.errors import InputError
from salience.files import locked, resolved


def check_folder(output: Path | None, overwrite: bool) -> None:
    """Checks a folder that is to be written, before any work is done.

    Raises:
        InputError: something stands there that is to be kept, or is no folder; or nothing can be written there.
    """
    check_place(output, overwrite)
    if output is not None and output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file, where a folder is needed: choose another place")


def check_output_file(output: Path | None, overwrite: bool) -> None:
    """Checks a file that is to be written, before any work is done.

    Raises:
        InputError: something stands there that is to be kept, or is a folder; or nothing can be written there.
    """
    check_place(output, overwrite)
    if output is not None and output.is_dir():
        raise InputError(f"{output} is a folder: name a file in it, or another one")


def check_place(output: Path | None, overwrite: bool) -> None:
    try:
        check_free(output, overwrite)
        check_writable(output)
    except (NotADirectoryError, FileExistsError) as error:
        raise InputError(f"{output} leads through a file, where a folder is needed: choose another place") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{output}: nothing can be written there ({reason}): choose another place") from error


def check_free(output: Path | None, overwrite: bool) -> None:
    """Raises an `InputError` if a file or folder stands there that is to be kept."""
    if output is not None and os.path.lexists(resolved(output)) and not overwrite:
        raise InputError(f"{output} exists: choose another --output, or --overwrite it")


def check_writable(output: Path | None) -> None:
    """Tries whether something can be written at `output`, and leaves no trace.

    Raises:
        InputError: it is a link that leads nowhere, its name is too long, or another process is writing it.
        OSError: its folder cannot be written.
    """
    if output is not None:
        with locked(resolved(output)):
            pass
