"""Reading and writing files: every failure to read is one clear line, and every file is written completely or not."""

from __future__ import annotations

import bz2
import codecs
import errno
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast
from uuid import uuid4

from filelock import FileLock, Timeout

from salience.errors import InputError, quoted, unknown

ZIP = b"PK\x03\x04"  # the first bytes of such a file
COMMON_ENCODINGS = ["utf-8", "utf-16", "cp1252", "latin-1"]
# Encodings by the names that Python's codecs have for them, as a user writes them.
BY_BYTE = {"cp1252": "cp1252 (Windows)", "iso8859-1": "latin-1"}
UNFINISHED = ".unfinished"  # suffix of temporary names
TRIES = 100  # to acquire a lock while files and folders come and go


@dataclass(frozen=True)
class Packing:
    """A way to compress files.

    Args:
        name: for messages.
        begin: what such files may begin with.
        open: gives the unpacked bytes of a file, with `peek`; `pack`: packs bytes, equal ones to equal ones.
    """

    name: str
    begin: tuple[bytes, ...]
    open: Callable[[Path], Any]
    pack: Callable[[bytes], bytes]


def open_zst(path: Path) -> io.BufferedReader:
    import pyarrow  # which is slow to import

    return io.BufferedReader(pyarrow.input_stream(open(path, "rb"), compression="zstd"))


def pack_zst(content: bytes) -> bytes:
    import pyarrow

    return pyarrow.compress(content, "zstd", asbytes=True)


PACKINGS = {  # by suffix
    ".gz": Packing("gzip", (b"\x1f\x8b",), gzip.open, partial(gzip.compress, mtime=0)),
    ".bz2": Packing("bzip2", tuple(b"BZh%d1AY&SY" % size for size in range(1, 10)), bz2.open, bz2.compress),
    ".xz": Packing("xz", (b"\xfd7zXZ\0",), lzma.open, lzma.compress),
    ".zst": Packing("zstd", (b"\x28\xb5\x2f\xfd",), open_zst, pack_zst),
}


def packing_of(path: Path) -> Packing | None:
    """How a file is compressed, by its name."""
    return PACKINGS.get(path.suffix.lower())


class Occupied(InputError):
    """Another process is writing the output."""


@contextmanager
def input_first(check: Callable[[], object]) -> Iterator[None]:
    """A context in which an output is checked. If it is at fault, `check` may raise what is wrong with the input.

    That is told first: who is told to --overwrite adds it to a command that names the wrong file.
    """
    try:
        yield
    except (InputError, OSError):
        check()
        raise


def check_folder(output: Path | None, overwrite: bool) -> None:
    """Checks, before any work is done, that a folder can be written; nothing is checked of None."""
    _check_place(output, overwrite)
    if output is not None and output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file, where a folder is needed: choose another place")


def check_output_file(output: Path | None, overwrite: bool) -> None:
    """As `check_folder`, of a file."""
    _check_place(output, overwrite)
    if output is not None and output.is_dir():
        raise InputError(f"{output} is a folder, where a file is needed: name a file in it, or another file")


def _check_place(output: Path | None, overwrite: bool) -> None:
    if output is None:
        return
    try:
        if os.path.lexists(resolved(output)) and not overwrite:
            raise InputError(f"{output} exists: choose another --output, or --overwrite it")
        check_writable(output)
    except (NotADirectoryError, FileExistsError) as error:
        raise InputError(f"{output} has a file in its path, where a folder is needed: choose another place") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{output} cannot be written ({reason}): choose another place") from error


def check_writable(output: Path) -> None:
    """Checks that something can be written at `output`, by creating and removing its lock file; raises as `locked`."""
    with locked(resolved(output)):
        pass


def resolved(output: Path) -> Path:
    """The absolute path that is written for `output`: the target, if it is a link; refuses a broken link."""
    if output.is_symlink() and not output.exists():
        raise InputError(f"{output} is a broken link: create its target, or remove the link")
    return Path(os.path.realpath(output))


@contextmanager
def locked(target: Path, patience: float = 0) -> Iterator[None]:
    """Inside the `with`, this process holds the lock of `target`, which one process can hold at a time.

    The lock is a file beside the target that is removed at the end. The kernel releases the lock when the process
    ends, even if it is killed. Missing parent folders are created, and removed at the end if they are still empty.
    Another process that holds the lock is waited for `patience` seconds.

    Raises:
        Occupied: another process holds the lock.
        InputError, OSError: the name is too long, or nothing can be written beside the target.
    """
    try:
        os.lstat(temporary(target.absolute()))
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"the name {target.name[:40]}... is too long: choose a shorter --output") from error
    missing = [folder for folder in target.absolute().parents if not folder.exists()]  # the innermost first
    file = lock_of(target)
    lock = FileLock(file)
    for attempt in range(TRIES):
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(patience)
            break
        except (FileNotFoundError, FileExistsError):  # a parent folder was removed, even between two steps of mkdir
            if attempt == TRIES - 1:
                raise
        except Timeout as error:
            if file.exists():
                raise Occupied(
                    f"{target} is being written by another process: wait until it is done, or choose another place"
                ) from error
            patience = 0
    else:
        raise InputError(f"{target} cannot be written: choose another place")
    try:
        yield
    finally:
        file.unlink(missing_ok=True)  # before the release: a process that has opened this file sees that it is gone
        lock.release()
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()


def lock_of(target: Path) -> Path:
    """The lock file: it is there while a process holds the lock, or after such a process was killed."""
    return target.absolute().with_name(f".{target.name}.lock")


def temporary(target: Path) -> Path:
    return target.with_name(f".{target.name}.{uuid4().hex[:8]}{UNFINISHED}")


def working_file(target: Path) -> Path:
    """What an interrupted writer of `target` keeps to go on from."""
    return target.with_name(f".{target.name}.working")


def leftovers(target: Path) -> Iterator[Path]:
    """What killed processes have left beside `target`, whose lock this process holds."""
    return target.parent.glob(f".{escape(target.name)}.{'[0-9a-f]' * 8}{UNFINISHED}")


@contextmanager
def readable(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed if its name says so; an `InputError` if it cannot be read."""
    packing = packing_of(path)
    try:
        with open(path, "rb") if packing is None else packing.open(path) as file:
            yield cast(BinaryIO, file)
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if packing is None or getattr(error, "errno", None) is not None:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{path}: the file cannot be read ({reason})") from error
        raise InputError(
            f"{path}: the {packing.name} file is damaged or cut off ({error}); download it or compress it again"
        ) from error


@contextmanager
def readable_text(path: Path, encoding: str | None = None, newline: str = "") -> Iterator[TextIO]:
    """The text of a file, decompressed if its name says so, without a byte order mark; `newline` as for `open`.

    Without an `encoding`, which is that of the rows (--encoding), the file must be UTF-8.

    Raises:
        InputError: the encoding is unknown, the file cannot be read, is compressed by its first bytes and not by its
            name, or is not in this encoding (names the line and the byte).
    """
    try:
        name = codecs.lookup(encoding or "utf-8").name
        "".encode(name)  # base64 and others are codecs, but not for text
    except (LookupError, UnicodeError) as error:  # "undefined" is a codec that refuses every text
        raise unknown("encoding", encoding, COMMON_ENCODINGS) from error
    try:
        without_mark = "utf-8-sig" if name == "utf-8" else name
        with readable(path) as file:
            first = file.peek(10)[:10]  # type: ignore[attr-defined]  # buffered and packed files have it
            for suffix, packing in PACKINGS.items():
                if first.startswith(packing.begin):
                    mend = "it is packed twice, unpack it once"
                    if packing_of(path) is None:
                        mend = f"rename it to {quoted(path.name + suffix)}"
                    raise InputError(f"{path}: begins like a {packing.name} file; {mend}")
            if first.startswith(ZIP):
                raise InputError(
                    f"{path}: begins like a zip file, as .xlsx are; rename it to .xlsx, or save it as csv"
                )
            with io.TextIOWrapper(file, without_mark, newline=newline) as text:
                yield text
    except UnicodeError as error:
        raise undecodable(path, name.removesuffix("-sig"), chosen=encoding is not None) from error


def undecodable(path: Path, encoding: str, chosen: bool) -> InputError:
    """The error for a file that is not in this encoding, which is read again to find the wrong byte.

    `chosen` is whether another --encoding can be given for it.
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    line, offset = 0, 0
    with readable(path) as file:
        first_bytes = file.peek(2)[:2]  # type: ignore[attr-defined]
        try:
            while chunk := file.readline():
                line += 1
                pending = len(decoder.getstate()[0])  # the first bytes of a character, from the previous chunk
                decoder.decode(chunk)
                offset += len(chunk)
            pending = len(decoder.getstate()[0])
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            offset += error.start - pending
        except UnicodeError:  # UTF-16 without a byte order mark: the error is at the beginning
            offset = 0
    marked = first_bytes in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    likely = {"utf-16": "utf-16"} if marked else BY_BYTE
    others = " or ".join(shown for name, shown in likely.items() if name != encoding)
    advice = f"name the encoding of the file, for example --encoding {others}"
    if not chosen:
        advice = "save it as UTF-8"
    elif not others:
        advice = "the file is damaged or cut off"
    return InputError(f"{path}: line {line}, byte offset {offset}: not {encoding.upper()}; {advice}")


@contextmanager
def whole_file(target: Path, patience: float = 0) -> Iterator[Path]:
    """A temporary path beside `target`. The file written there is renamed to `target` if the `with` ends normally.

    After an exception, the temporary file is removed and `target` is unchanged. A `working_file` of an interrupted
    writer is removed when `target` is whole. Waits and raises as `locked`.
    """
    target = resolved(target)
    with locked(target, patience):
        for leftover in leftovers(target):
            leftover.unlink(missing_ok=True)
        with replacing(target) as unfinished:
            yield unfinished
        working_file(target).unlink(missing_ok=True)  # nobody goes on from it


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """As `whole_file`, for a target that no other process writes, so that no lock is needed."""
    unfinished = temporary(target)
    try:
        yield unfinished
        os.replace(unfinished, target)
    finally:
        with suppress(FileNotFoundError):
            unfinished.unlink()


@contextmanager
def whole_folder(target: Path, own: Collection[str] = ()) -> Iterator[Path]:
    """A temporary folder whose files are moved to `target` if the `with` ends normally.

    Files of the same name are replaced; all other files in `target` are kept, but for the names in `own` that are not
    written again. After an exception, `target` is unchanged.

    Raises:
        InputError: another process is writing the same target, or a file and a folder would have the same name.
    """
    target = resolved(target)
    # An existing folder may be a file system of its own, and files can be moved in one step only within one.
    place = target / target.name if target.exists() else target
    with locked(target):
        for leftover in leftovers(place):
            shutil.rmtree(leftover)
        unfinished = temporary(place)
        unfinished.mkdir()
        try:
            yield unfinished
            if not target.exists():
                os.replace(unfinished, target)
                return
            files, present = files_in(unfinished), files_in(target)
            for file in files:
                if (target / file).is_dir():
                    raise InputError(f"{target / file} is a folder, where a file is needed: choose another place")
            folders = {str(folder) for file in files for folder in Path(file).parents}
            if blocking := folders & {*present}:
                raise InputError(f"{target / min(blocking)} is a file, where a folder is needed: choose another place")
            for file in files:
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                os.replace(unfinished / file, target / file)
            for file in {*own} & {*present} - {*files}:
                (target / file).unlink(missing_ok=True)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def write_whole(file: Path, text: str) -> None:
    """Writes a text file in one step, as UTF-8, in a folder that no other process writes to."""
    with replacing(file) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def write_json(file: Path, value: Any) -> None:
    """As `write_whole`, of a value as indented JSON."""
    write_whole(file, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_lines(file: Path, rows: Iterable[dict]) -> None:
    """As `write_whole`, of rows as JSON Lines, one after the other."""
    with replacing(file) as unfinished, open(unfinished, "w", encoding="utf-8") as opened:
        opened.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def files_in(folder: Path) -> list[str]:
    """The files in a folder and its subfolders, as sorted paths relative to it. Links count as files."""

    def refuse(error: OSError) -> None:
        raise error  # os.walk would skip the folder

    return sorted(
        os.path.relpath(os.path.join(place, name), folder)
        for place, folders, files in os.walk(folder, onerror=refuse)
        for name in [*files, *(name for name in folders if os.path.islink(os.path.join(place, name)))]
    )


def sha256_of(file: str | Path) -> str:
    """The SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
