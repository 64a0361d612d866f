"""Rows of csv and tsv files. Every value stays the string that it is: "NA", "null", "001" and "1.0" are text.

The csv builder of `datasets` fills up short rows with missing values, gives no line numbers, and cannot be told to
leave every value a string; so the standard library's reader does the work.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from salience.data.columns import checked_names
from salience.data.values import well_formed
from salience.errors import InputError, counted, quoted
from salience.files import readable_text

LONGEST_FIELD = 2**31 - 1


def delimited_rows(path: Path, encoding: str, delimiter: str | None = None) -> Iterator[dict]:
    """The rows of a file with a header; a csv file's delimiter is the one that divides the header most."""
    delimiter = delimiter or header_delimiter(path, encoding)
    quoting = csv.QUOTE_NONE if delimiter == "\t" and quotes_are_text(path, encoding) else csv.QUOTE_MINIMAL
    return rows(path, encoding, delimiter, quoting)


def rows(path: Path, encoding: str, delimiter: str, quoting: int) -> Iterator[dict]:
    with readable_text(path, encoding) as file:
        first, line = first_line(file, path)
        if 3 * first.count("\0") > len(first):  # UTF-16 without a mark: every second byte is NUL
            raise InputError(
                f"{path}: every second character of the header is NUL; name the encoding of the file, such as "
                "--encoding utf-16-le"
            )
        # Strict: else a quotation mark that is never closed would swallow the rest of the file without a word.
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


def fields_of(lines: Iterable[str], **options) -> Iterator[list[str]]:
    """The standard library's reader, for fields of any length.

    Its limit is 131,072 characters, and long documents pass it. The setting belongs to the process, but a higher
    limit harms no other reader.
    """
    csv.field_size_limit(LONGEST_FIELD)
    return csv.reader(lines, **options)


def named_index(names: list[str]) -> list[str]:
    """pandas writes its index as a first column without a name."""
    return ["index", *names[1:]] if names and not names[0].strip() and "index" not in names else names


def first_line(file, path: Path) -> tuple[str, int]:
    """The first line that is not blank, and its number."""
    for number, line in enumerate(file, 1):
        if line.strip():
            return line, number
    raise InputError(f"{path}: the file is empty; it needs a header and rows")


def header_delimiter(path: Path, encoding: str) -> str:
    """Comma, semicolon or tab: spreadsheets write each of them into files that they call csv."""
    with readable_text(path, encoding) as file:
        header, _ = first_line(file, path)
    return max(",;\t", key=lambda delimiter: len(next(fields_of([header], delimiter=delimiter))))


def quotes_are_text(path: Path, encoding: str) -> bool:
    """Whether a tab-separated file was written without quoting, as GLUE's files are.

    There a text may begin with a quotation mark that nothing closes. So the file is read once beforehand: it is taken
    so if its rows are whole only without quoting.
    """
    return not whole(path, encoding, csv.QUOTE_MINIMAL) and whole(path, encoding, csv.QUOTE_NONE)


def whole(path: Path, encoding: str, quoting: int) -> bool:
    try:
        deque(rows(path, encoding, "\t", quoting), maxlen=0)
    except InputError:
        return False
    return True
