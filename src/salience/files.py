"""Reading and writing files: every failure to read is one clear line, and every file is written completely or not."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import json
import os
import shutil
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from salience.errors import InputError, unknown
from salience.outputs import leftovers, locked, resolved, temporary
from salience.packed import check_not_packed, likely_encoding

COMMON_ENCODINGS = ["utf-8", "utf-16", "cp1252", "latin-1"]


@contextmanager
def readable(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed if its name ends in .gz.

    Raises:
        InputError: the file cannot be opened, read or decompressed; also if this shows only inside the `with`.
    """
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else open(path, "rb") as file:
            yield cast(BinaryIO, file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path}: the gzip file is damaged or cut off ({error}); download it or compress it again"
        ) from error
    except OSError as error:
        raise InputError(f"{path}: the file cannot be read ({error.strerror or error})") from error


@contextmanager
def readable_text(path: Path, encoding: str, newline: str = "") -> Iterator[TextIO]:
    """The text of a file, decompressed if its name ends in .gz, without a byte order mark.

    Args:
        path: the file.
        encoding: the name of an encoding that Python knows.
        newline: as for `open`; by default, line ends are recognised and kept as they are.

    Raises:
        InputError: the encoding is unknown, the file cannot be read, it is packed, or it is not in this encoding
            (names the line and the byte).
    """
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)  # base64 and others are codecs, but not for text
    except (LookupError, UnicodeError) as error:  # "undefined" is a codec that refuses every text
        raise unknown("encoding", encoding, COMMON_ENCODINGS) from error
    try:
        without_mark = "utf-8-sig" if name == "utf-8" else name
        with readable(path) as file:
            check_not_packed(path, file)
            with io.TextIOWrapper(file, without_mark, newline=newline) as text:
                yield text
    except UnicodeError as error:
        raise undecodable(path, name.removesuffix("-sig")) from error


def undecodable(path: Path, encoding: str) -> InputError:
    """The error for a file that is not in this encoding. The file is read again to find the wrong byte."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, offset = 0, 0
    with readable(path) as file:
        first_bytes = file.read(2)
        file.seek(0)
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
    advice = likely_encoding(first_bytes, encoding)
    return InputError(f"{path}: line {line}, byte offset {offset}: not {encoding.upper()}; {advice}")


@contextmanager
def whole_file(target: Path, patience: float = 0) -> Iterator[Path]:
    """A temporary path beside `target`. The file written there is renamed to `target` if the `with` ends normally.

    After an exception, the temporary file is removed and `target` is unchanged. Temporary files of killed processes
    are removed, too.

    Args:
        target: the file.
        patience: number of seconds to wait for another process that is writing it.

    Raises:
        InputError: another process is writing the same target.
        OSError: nothing can be written there.
    """
    target = resolved(target)
    with locked(target, patience):
        for leftover in leftovers(target):
            leftover.unlink(missing_ok=True)
        with replacing(target) as unfinished:
            yield unfinished


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

    Files of the same name are replaced; all other files in `target` are kept. After an exception, `target` is
    unchanged.

    Args:
        target: the folder.
        own: names of files that are not kept if they are not written again: parts of what is replaced.

    Raises:
        InputError: another process is writing the same target, or a file and a folder would have the same name.
        OSError: nothing can be written there.
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
    """Writes a value as indented JSON in one step, in a folder that no other process writes to."""
    write_whole(file, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_lines(file: Path, rows: Iterable[dict]) -> None:
    """Writes rows as JSON Lines in one step, in a folder that no other process writes to."""
    with replacing(file) as unfinished, open(unfinished, "w", encoding="utf-8") as opened:
        opened.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def files_in(folder: Path) -> list[str]:
    """The files in a folder and its subfolders, as sorted paths relative to it. Links count as files.

    Raises:
        OSError: a folder cannot be listed.
    """

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
