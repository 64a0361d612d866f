"""The place of an output: whether a command can write it, and the lock that keeps other processes away from it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

from salience.errors import InputError

UNFINISHED = ".unfinished"  # suffix of temporary names


class Occupied(InputError):
    """The error for an output that another process is writing."""


def check_folder(output: Path | None, overwrite: bool) -> None:
    """Checks that a folder can be written, before any work is done.

    Args:
        output: the folder; None if nothing is to be written.
        overwrite: whether an existing folder may be written to.

    Raises:
        InputError: it exists and may not be overwritten, is a file, or cannot be written.
    """
    check_place(output, overwrite)
    if output is not None and output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file, where a folder is needed: choose another place")


def check_output_file(output: Path | None, overwrite: bool) -> None:
    """Checks that a file can be written, before any work is done.

    Args:
        output: the file; None if nothing is to be written.
        overwrite: whether an existing file may be replaced.

    Raises:
        InputError: it exists and may not be overwritten, is a folder, or cannot be written.
    """
    check_place(output, overwrite)
    if output is not None and output.is_dir():
        raise InputError(f"{output} is a folder, where a file is needed: name a file in it, or another file")


def check_place(output: Path | None, overwrite: bool) -> None:
    """Raises an `InputError` if `output` exists and may not be overwritten, or cannot be written."""
    try:
        check_free(output, overwrite)
        check_writable(output)
    except (NotADirectoryError, FileExistsError) as error:
        raise InputError(f"{output} has a file in its path, where a folder is needed: choose another place") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{output} cannot be written ({reason}): choose another place") from error


def check_free(output: Path | None, overwrite: bool) -> None:
    """Raises an `InputError` if a file or folder is there that may not be overwritten."""
    if output is not None and os.path.lexists(resolved(output)) and not overwrite:
        raise InputError(f"{output} exists: choose another --output, or --overwrite it")


def check_writable(output: Path | None) -> None:
    """Checks by creating and removing a lock file that something can be written at `output`.

    Raises:
        InputError: it is a broken link, its name is too long, or another process is writing it.
        OSError: its folder cannot be written.
    """
    if output is not None:
        with locked(resolved(output)):
            pass


def resolved(output: Path) -> Path:
    """The absolute path that is written for `output`: the target, if it is a link.

    Raises:
        InputError: it is a broken link.
    """
    if output.is_symlink() and not output.exists():
        raise InputError(f"{output} is a broken link: create its target, or remove the link")
    return Path(os.path.realpath(output))


@contextmanager
def locked(target: Path, patience: float = 0) -> Iterator[None]:
    """Inside the `with`, this process holds the lock of `target`, which one process can hold at a time.

    The lock is a file beside the target that is removed at the end. The kernel releases the lock when the process
    ends, even if it is killed. Missing parent folders are created, and removed at the end if they are still empty.

    Args:
        target: the file or folder that is going to be written.
        patience: number of seconds to wait for another process that holds the lock.

    Raises:
        Occupied: another process holds the lock.
        InputError: the name is too long, or nothing can be written beside the target.
        OSError: neither can a folder.
    """
    check_name(target)
    missing = [folder for folder in target.absolute().parents if not folder.exists()]  # the innermost first
    file = lock_of(target)
    lock = FileLock(file)
    acquire(lock, target, patience)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)  # before the release: a process that has opened this file sees that it is gone
        lock.release()
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()


def lock_of(target: Path) -> Path:
    """The lock file of a target. It is there while a process holds the lock, or after such a process was killed."""
    return target.absolute().with_name(f".{target.name}.lock")


def acquire(lock: FileLock, target: Path, patience: float, tries: int = 100) -> None:
    """Acquires the lock of a target.

    If another process removes the file of the lock or a parent folder in between, they are created again.

    Args:
        lock: of the target.
        target: the file or folder that is going to be written.
        patience: number of seconds to wait for another process that holds the lock.
        tries: number of tries while files and folders come and go.

    Raises:
        Occupied: another process holds the lock.
        InputError: the file of the lock cannot be created.
        OSError: neither can its folder.
    """
    file = lock_of(target)
    for attempt in range(tries):
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(patience)
            return
        except (FileNotFoundError, FileExistsError):  # a parent folder was removed, even between two steps of mkdir
            if attempt == tries - 1:
                raise
        except Timeout as error:
            if file.exists():
                raise Occupied(
                    f"{target} is being written by another process: wait until it is done, or choose another place"
                ) from error
            patience = 0
    raise InputError(f"{target} cannot be written: choose another place")


def check_name(target: Path) -> None:
    """Raises an `InputError` if the file system refuses names as long as the temporary ones beside `target`."""
    try:
        os.lstat(temporary(target.absolute()))
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"the name {target.name[:40]}... is too long: choose a shorter --output") from error


def temporary(target: Path) -> Path:
    """A path beside `target` that no other process uses."""
    return target.with_name(f".{target.name}.{uuid4().hex[:8]}{UNFINISHED}")


def leftovers(target: Path) -> Iterator[Path]:
    """The temporary files or folders of killed processes beside `target`, whose lock this process holds."""
    return target.parent.glob(f".{escape(target.name)}.{'[0-9a-f]' * 8}{UNFINISHED}")
