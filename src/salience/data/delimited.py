"""Rows of csv and tsv files. Every value stays a string: "NA", "null", "001" and "1.0" are text.

The csv builder of `datasets` fills up short rows with missing values, gives no line numbers, and cannot keep every
value a string; so the reader of the standard library is used.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from salience.data.header import checked_names
from salience.data.values import well_formed
from salience.errors import InputError, counted, quoted
from salience.files import readable_text

LONGEST_FIELD = 2**31 - 1


def delimited_rows(path: Path, encoding: str, delimiter: str | None = None) -> Iterator[dict]:
    """Yields the rows of a file with a header.

    Args:
        delimiter: None takes the one that divides the header into the most fields: comma, semicolon or tab.

    Raises:
        InputError: the file is empty, is not text, or a line does not fit the header; names the line.
    """
    delimiter = delimiter or header_delimiter(path, encoding)
    quoting = csv.QUOTE_NONE if delimiter == "\t" and quotes_are_text(path, encoding) else csv.QUOTE_MINIMAL
    return rows(path, encoding, delimiter, quoting)


def rows(path: Path, encoding: str, delimiter: str, quoting: int) -> Iterator[dict]:
    """Yields the rows of a file. Raises as `delimited_rows`.

    Args:
        quoting: a constant of the `csv` module.
    """
    with readable_text(path, encoding) as file:
        first, line = first_line(file, path)
        if 3 * first.count("\0") > len(first):  # UTF-16 without a mark: every second byte is NUL
            raise InputError(
                f"{path}: every second character of the header is NUL; name the encoding of the file, such as "
                "--encoding utf-16-le"
            )
        # Strict: otherwise a quotation mark that is not closed would hide the rest of the file silently.
        lines = map(well_formed, chain([first], file))
        reader = fields_of(lines, delimiter=delimiter, quoting=quoting, strict=True)
        skipped = line - 1
        try:
            names = checked_names(named_index(next(reader)), path)
            width = len(names)
            line = skipped + reader.line_num + 1
            for fields in reader:
                if len(fields) == width:
                    yield dict(zip(names, fields, strict=True))
                elif fields and (len(fields) > 1 or fields[0].strip()):
                    raise InputError(
                        f"{path}: line {line} has {counted(len(fields), 'field')}, but the header has {width}; "
                        f"mend the line, or put a text that contains {quoted(delimiter)} in double quotes"
                    )
                line = skipped + reader.line_num + 1
        except csv.Error as error:
            raise InputError(
                f"{path}: the row that begins in line {line} has a quotation mark that is not closed or not doubled "
                f'({error}); inside a quoted text, write "" for "'
            ) from error


def fields_of(lines: Iterable[str], **options: Any) -> Any:
    """The reader of the standard library, with its `line_num`, for fields of any length.

    Its default limit of 131,072 characters is too low for long documents. The limit applies to the whole process, but
    a higher one does no harm.
    """
    csv.field_size_limit(LONGEST_FIELD)
    return csv.reader(lines, **options)


def named_index(names: list[str]) -> list[str]:
    """The names, with "index" for a first column without a name: pandas writes its index so."""
    return ["index", *names[1:]] if names and not names[0].strip() and "index" not in names else names


def first_line(file, path: Path) -> tuple[str, int]:
    """The first line that is not blank, and its number. Raises an `InputError` if there is none."""
    for number, line in enumerate(file, 1):
        if line.strip():
            return line, number
    raise InputError(f"{path}: the file is empty; it needs a header and rows")


def header_delimiter(path: Path, encoding: str) -> str:
    """The delimiter of a csv file: comma, semicolon or tab, since spreadsheets write all three."""
    with readable_text(path, encoding) as file:
        header, _ = first_line(file, path)
    return max(",;\t", key=lambda delimiter: len(next(fields_of([header], delimiter=delimiter))))


def quotes_are_text(path: Path, encoding: str) -> bool:
    """Whether a tab-separated file was written without quoting, as the files of GLUE are.

    In such a file a text may begin with a quotation mark that is not closed. The file is read once beforehand; it has
    no quoting if its rows are complete only without quoting.
    """
    return not whole(path, encoding, csv.QUOTE_MINIMAL) and whole(path, encoding, csv.QUOTE_NONE)


def whole(path: Path, encoding: str, quoting: int) -> bool:
    """Whether all rows of a tab-separated file have as many fields as the header."""
    try:
        deque(rows(path, encoding, "\t", quoting), maxlen=0)
    except InputError:
        return False
    return True
