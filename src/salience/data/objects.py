"""Rows of JSON files: one object a line, or an array of objects.

The json builder of `datasets` makes time stamps of texts that look like dates, and names no lines; so the standard
library's parser does the work.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from salience.errors import InputError, quoted
from salience.opening import readable_text

CHUNK = 1 << 20  # characters of an array that are read at a time
BETWEEN = re.compile(r"[\s,]*")


def object_rows(path: Path, encoding: str) -> Iterator[dict]:
    """The objects of a file, whichever of the two forms it has."""
    # Only line feeds end a line: other line ends may stand inside a JSON string.
    with readable_text(path, encoding, newline="\n") as file:
        characters = iter(lambda: file.read(1), "")
        rows = array_rows if next((mark for mark in characters if not mark.isspace()), "") == "[" else line_rows
    with readable_text(path, encoding, newline="\n") as file:
        yield from rows(path, file)


def line_rows(path: Path, file: TextIO) -> Iterator[dict]:
    for number, line in enumerate(file, 1):
        if line.isspace():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise invalid(path, number, error) from error
        if not isinstance(row, dict):
            raise not_an_object(path, number, line)
        yield row


def array_rows(path: Path, file: TextIO) -> Iterator[dict]:
    """The objects of an array, piece by piece: the whole of it, often a single line, need not fit into memory."""
    decode = json.JSONDecoder().raw_decode
    text = file.read(CHUNK)
    position = text.index("[") + 1
    line = 1 + text.count("\n", 0, position)  # the number of the line that `position` is in
    while True:
        start = BETWEEN.match(text, position).end()
        line += text.count("\n", position, start)
        if text.startswith("]", start):
            return
        try:
            row, position = decode(text, start)
        except ValueError as error:  # perhaps the object goes on in the next piece
            text, position = text[start:], 0
            if text and text[0] != "{":
                raise not_an_object(path, line, text) from error
            more = file.read(max(CHUNK, len(text)))
            if not more:
                raise invalid(path, line, error) from error
            text += more
            continue
        if not isinstance(row, dict):
            raise not_an_object(path, line, text[start:position])
        line += text.count("\n", start, position)
        yield row


def invalid(path: Path, line: int, error: ValueError) -> InputError:
    reason = error.msg if isinstance(error, json.JSONDecodeError) else error
    return InputError(f"{path}: line {line}: not valid JSON ({reason}); write one object a line, or an array")


def not_an_object(path: Path, line: int, text: str) -> InputError:
    return InputError(
        f"{path}: line {line}: not a JSON object but {quoted(text.strip(), 30)}; "
        'every row is an object such as {"text": "...", "label": "..."}'
    )
