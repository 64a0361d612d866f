"""Opening a text file, packed or not, such that every failure to read it is one clear line."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from salience.errors import InputError, unknown

USUAL_ENCODINGS = ["utf-8", "utf-16", "cp1252", "latin-1"]


@contextmanager
def readable(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if its name ends in .gz.

    Raises:
        InputError: the file cannot be opened or unpacked, at whichever point of reading it turns out.
    """
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else open(path, "rb") as file:
            yield cast(BinaryIO, file)  # a GzipFile is one in all but its type
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: the gzip file is damaged or cut off ({error}); fetch or pack it again") from error
    except OSError as error:
        raise InputError(f"{path}: the file cannot be read ({error.strerror or error})") from error


@contextmanager
def readable_text(path: Path, encoding: str, newline: str = "") -> Iterator[TextIO]:
    """The file as text, its line ends untouched, without the byte order mark that spreadsheets put first.

    Raises:
        InputError: as above; or the text is not in this encoding (names line and byte).
    """
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)  # base64 and the like are codecs too, but make no text
    except LookupError as error:
        raise unknown("encoding", encoding, USUAL_ENCODINGS) from error
    try:
        marked = "utf-8-sig" if name == "utf-8" else name
        with readable(path) as file, io.TextIOWrapper(file, marked, newline=newline) as text:
            yield text
    except UnicodeError as error:
        raise undecodable(path, name.removesuffix("-sig")) from error


def undecodable(path: Path, encoding: str) -> InputError:
    """Where the wrong byte stands. The file is read again for it: a text file does not know."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, offset = 0, 0
    with readable(path) as file:
        marks = file.read(2)
        file.seek(0)
        try:
            while chunk := file.readline():
                line += 1
                pending = len(decoder.getstate()[0])  # the beginning of a character, from the chunk before
                decoder.decode(chunk)
                offset += len(chunk)
            pending = len(decoder.getstate()[0])
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            offset += error.start - pending
        except UnicodeError:  # UTF-16 that lacks its mark: the fault lies at the beginning
            offset = 0
    likely = "utf-16" if marks in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "cp1252 (Windows) or latin-1"
    return InputError(
        f"{path}: line {line}, byte offset {offset}: not {encoding.upper()}; "
        f"name the encoding of the file, for example --encoding {likely}"
    )
