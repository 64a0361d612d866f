"""What the first bytes of a file say where it is not the text that its name promises."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import BinaryIO

from salience.errors import InputError, quoted

GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
# Encodings by the names that Python's codecs have for them, as a user writes them.
BY_BYTE = {"cp1252": "cp1252 (Windows)", "iso8859-1": "latin-1"}


def check_not_packed(path: Path, file: BinaryIO) -> None:
    """Checks that a text file does not begin like a gzip file or a zip file. Nothing is taken from the file.

    Args:
        path: its name, for messages.
        file: its bytes from the beginning, decompressed if its name ends in .gz.

    Raises:
        InputError: it does; says what to do.
    """
    first = file.peek(4)[:4]  # type: ignore[attr-defined]  # buffered files and gzip files have it
    if first.startswith(GZIP):
        again = path.suffix.lower() == ".gz"
        what = "it is packed twice, unpack it once" if again else f"rename it to {quoted(path.name + '.gz')}"
        raise InputError(f"{path}: begins like a gzip file; {what}")
    if first.startswith(ZIP):
        raise InputError(f"{path}: begins like a zip file, as .xlsx are; save it as csv")


def likely_encoding(first_bytes: bytes, tried: str) -> str:
    """What to do with a file that is not in the encoding that was tried, which is not named again.

    Args:
        first_bytes: the first two bytes of the file.
        tried: the name of the encoding that Python's codecs have.
    """
    marked = first_bytes in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    likely = {"utf-16": "utf-16"} if marked else BY_BYTE
    others = " or ".join(shown for name, shown in likely.items() if name != tried)
    if not others:
        return "the file is damaged or cut off"
    return f"name the encoding of the file, for example --encoding {others}"
