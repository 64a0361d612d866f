"""Rows of JSON files: one object a line, or an array of objects.

The json builder of `datasets` turns texts that look like dates into time stamps, and gives no line numbers; so the
parser of the standard library is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from salience.data.values import DEEPEST, well_formed_value
from salience.errors import InputError, quoted
from salience.files import readable_text

CHUNK = 1 << 20  # characters of an array that are read at a time
LONGEST_WORD = 12  # characters of a word or an escape that the end of a piece may have cut: "-Infinity" has 9
BETWEEN = re.compile(r"[\s,]*")


def object_rows(path: Path, encoding: str) -> Iterator[dict]:
    """Yields the objects of a file in either form.

    Raises:
        InputError: a line is not valid JSON or not an object, or names a value twice; names the line.
    """
    # Only line feeds end a line: other line ends may stand inside a JSON string.
    with readable_text(path, encoding, newline="\n") as file:
        characters = iter(lambda: file.read(1), "")
        rows = array_rows if next((mark for mark in characters if not mark.isspace()), "") == "[" else line_rows
    with readable_text(path, encoding, newline="\n") as file:
        yield from rows(path, file)


def line_rows(path: Path, file: TextIO) -> Iterator[dict]:
    """Yields the objects of a file with one object a line. Raises as `object_rows`."""
    for number, line in enumerate(file, 1):
        if line.isspace():
            continue
        try:
            row = DECODER.decode(line)
        except ValueError as error:
            raise invalid(path, number, error) from error
        except RecursionError as error:
            raise too_deep(path, number) from error
        if not isinstance(row, dict):
            raise not_an_object(path, number, line)
        yield checked(row, path, number)


def array_rows(path: Path, file: TextIO) -> Iterator[dict]:
    """Yields the objects of an array, read in pieces, since it may not fit into memory. Raises as `object_rows`."""
    text, line = file.read(CHUNK), 1
    while "[" not in text:  # more white space comes first than one piece holds
        line += text.count("\n")
        text = file.read(CHUNK)
    position = text.index("[") + 1
    line += text.count("\n", 0, position)  # the number of the line that `position` is in
    while True:
        between = BETWEEN.match(text, position)
        assert between is not None  # it matches nothing, too
        start = between.end()
        line += text.count("\n", position, start)
        if text.startswith("]", start):
            check_end(path, text[start + 1 :], file, line)
            return
        try:
            row, position = DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:  # perhaps the object goes on in the next piece
            text, position = text[start:], 0
            if text and text[0] != "{":
                raise not_an_object(path, line, text) from error
            more = file.read(max(CHUNK, len(text))) if may_go_on(error, start + len(text)) else ""
            if not more:
                raise invalid(path, line, error) from error
            text += more
            continue
        except ValueError as error:
            raise invalid(path, line, error) from error
        except RecursionError as error:
            raise too_deep(path, line) from error
        if not isinstance(row, dict):
            raise not_an_object(path, line, text[start:position])
        yield checked(row, path, line)
        line += text.count("\n", start, position)


def may_go_on(error: json.JSONDecodeError, length: int) -> bool:
    """Whether the rest of the file may complete the text: the error is at its end, or a string is not closed."""
    return error.msg.startswith("Unterminated string") or length - error.pos < LONGEST_WORD


def check_end(path: Path, text: str, file: TextIO, line: int) -> None:
    """Raises an `InputError` if anything but white space follows the array."""
    while text:
        if rest := text.lstrip():
            line += text.count("\n", 0, len(text) - len(rest))
            raise InputError(
                f"{path}: line {line}: {quoted(rest.split(maxsplit=1)[0], 30)} follows the end of the array, and "
                "would not be read; put all rows into one array, or one object a line"
            )
        line += text.count("\n")
        text = file.read(CHUNK)


class NamedTwice(ValueError):
    """An object has a name twice."""


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object from its names and values. Raises `NamedTwice`; the parser would keep the last value silently."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in row if names.count(name) > 1)
        raise NamedTwice(f"an object has the name {quoted(twice)} twice; rename or remove one of the two")
    return row


DECODER = json.JSONDecoder(object_pairs_hook=distinct)


def checked(row: dict, path: Path, line: int) -> dict:
    """The row with valid Unicode only.

    Raises:
        InputError: it is nested too deeply, or has the same name twice.
    """
    try:
        return well_formed_value(row)
    except TypeError as error:
        raise too_deep(path, line) from error
    except KeyError as error:
        raise InputError(
            f"{path}: line {line}: two names of an object are not valid Unicode and cannot be told apart: "
            f"{quoted(error.args[0])}; rename them"
        ) from error


def invalid(path: Path, line: int, error: ValueError) -> InputError:
    """The error for a line that is not JSON."""
    if isinstance(error, json.JSONDecodeError):
        return InputError(f"{path}: line {line}: not valid JSON ({error.msg}); write one object a line, or an array")
    if isinstance(error, NamedTwice):
        return InputError(f"{path}: line {line}: {error}")
    # The only other error of the parser is that of the conversion of a number.
    return InputError(f"{path}: line {line}: a number has too many digits; write it as a text, in double quotes")


def too_deep(path: Path, line: int) -> InputError:
    """The error for a line whose values are nested too deeply."""
    return InputError(
        f"{path}: line {line}: lists and objects are nested more than {DEEPEST} levels deep; a row is an object of "
        "texts and numbers"
    )


def not_an_object(path: Path, line: int, text: str) -> InputError:
    """The error for a row that is JSON but no object."""
    return InputError(
        f"{path}: line {line}: not a JSON object but {quoted(text.strip(), 30)}; "
        'every row is an object such as {"text": "...", "label": "..."}'
    )
