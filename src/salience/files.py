"""Writing files: a reader finds a whole file or none, and two processes never write the same one."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock, Timeout

from salience.errors import InputError

UNFINISHED = ".unfinished"  # the end of a temporary name


@contextmanager
def locked(target: Path, patience: float = 0) -> Iterator[None]:
    """Holds `target` for this process: no other one gets past this line for it until the `with` ends.

    The lock is a file beside the target, removed at the end. The kernel releases it when the process dies, however it
    dies. Missing parent folders are made, and removed at the end if nothing was put into them.

    Args:
        patience: seconds to wait for another process that holds it.

    Raises:
        InputError: another process holds it.
        OSError: nothing can be written beside the target.
    """
    check_name(target)
    missing = [folder for folder in target.absolute().parents if not folder.exists()]  # the innermost first
    file = target.absolute().with_name(f".{target.name}.lock")
    lock = FileLock(file, timeout=patience)
    try:
        acquire(lock, file)
    except Timeout as error:
        if not file.exists():  # what keeps the lock from being made is told as if a process held it
            raise InputError(f"nothing can be written at {target}: choose another place") from error
        raise InputError(
            f"{target} is being written by another process: wait until it is done, or choose another place"
        ) from error
    try:
        yield
    finally:
        file.unlink(missing_ok=True)  # while it is held: whoever has opened this file sees that it is gone
        lock.release()
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()


def acquire(lock: FileLock, file: Path, tries: int = 10) -> None:
    """Takes the lock. A process that ends may remove a parent folder that both have made: it is made again then."""
    for attempt in range(tries):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
            return
        except FileNotFoundError:
            if attempt == tries - 1:
                raise


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A temporary path beside `target`; the file that is written there takes its name when the `with` ends well.

    Otherwise the temporary file is removed. What a killed process left is removed by the next one.

    Raises:
        InputError: another process is writing the same target.
    """
    target = resolved(target)
    with locked(target):
        for left in leftovers(target):
            left.unlink(missing_ok=True)
        with replacing(target) as unfinished:
            yield unfinished


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """As `whole_file`, in a folder that this process holds already."""
    unfinished = temporary(target)
    try:
        yield unfinished
        os.replace(unfinished, target)
    finally:
        with suppress(FileNotFoundError):
            unfinished.unlink()


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A temporary folder beside `target`, whose files are moved to `target` when the `with` ends well.

    A file of the same name is replaced; everything else in `target` stays as it is. If the `with` does not end well,
    `target` is left as it was.

    Raises:
        InputError: another process is writing the same target.
    """
    target = resolved(target)
    # Inside a folder that is there, which may be a disk of its own; else beside the name that the folder will have.
    place = target / target.name if target.exists() else target
    with locked(target):
        for left in leftovers(place):
            shutil.rmtree(left)
        unfinished = temporary(place)
        unfinished.mkdir()
        try:
            yield unfinished
            if not target.exists():
                os.replace(unfinished, target)
                return
            for file in files_in(unfinished):
                if (target / file).is_dir():
                    raise InputError(f"{target / file} is a folder, where a file is needed: choose another place")
            for file in files_in(unfinished):
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                os.replace(unfinished / file, target / file)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def temporary(target: Path) -> Path:
    """A name beside `target` that no other process uses."""
    return target.with_name(f".{target.name}.{uuid4().hex[:8]}{UNFINISHED}")


def leftovers(target: Path) -> Iterator[Path]:
    """What killed processes left beside `target`, which this process holds."""
    return target.parent.glob(f".{escape(target.name)}.{'[0-9a-f]' * 8}{UNFINISHED}")


def write_whole(file: Path, text: str) -> None:
    """Writes a text file whole, in a folder that this process holds or that nobody else writes into."""
    with replacing(file) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def write_json(file: Path, value: Any) -> None:
    write_whole(file, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_lines(file: Path, rows: Iterable[dict]) -> None:
    write_whole(file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def files_in(folder: Path) -> list[str]:
    """The files below a folder, as sorted paths relative to it; a link counts as a file, wherever it leads.

    Raises:
        OSError: a folder cannot be listed.
    """

    def refuse(error: OSError) -> None:
        raise error  # os.walk would leave the folder out

    return sorted(
        os.path.relpath(os.path.join(place, name), folder)
        for place, folders, files in os.walk(folder, onerror=refuse)
        for name in [*files, *(name for name in folders if os.path.islink(os.path.join(place, name)))]
    )


def resolved(output: Path) -> Path:
    """The place that is written for `output`: where it is a link, the place that it leads to.

    Raises:
        InputError: it is a link that leads nowhere.
    """
    if output.is_symlink() and not output.exists():
        raise InputError(f"{output} is a link to a place that is not there: make that place, or remove the link")
    return Path(os.path.realpath(output))


def check_name(target: Path) -> None:
    """Raises an `InputError` if the system takes no name that is as long as the temporary ones beside `target`."""
    try:
        os.lstat(target.absolute().with_name(f".{target.name}.12345678{UNFINISHED}"))
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"the name {target.name[:40]}... is too long: choose a shorter --output") from error


def sha256_of(file: str | Path) -> str:
    """The SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
