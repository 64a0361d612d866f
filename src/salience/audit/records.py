"""The records of csv, tsv and JSON files as they are written, with the place of the label in each.

What the readers of `salience.data` give as rows is here the text that the rows are written in.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json import JSONDecoder
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed lacks it
from pathlib import Path
from typing import NamedTuple

from salience.data.reading import fields_of, header_delimiter, named_index, quotes_are_text
from salience.data.values import well_formed

SPACE = re.compile(r"\s*")
BETWEEN = re.compile(r"[\s,]*")
DECODER = JSONDecoder()


@dataclass(frozen=True)
class Record:
    """A row as it is written.

    Attributes:
        before: what stands between it and the record before it; of the first one, all that comes first.
        text: the record, with its line end in files of lines.
        label: where in the text the label is written; empty if the record has none.
    """

    before: str
    text: str
    label: slice


class Delimited(NamedTuple):
    """How the fields of a csv or tsv file are written.

    Attributes:
        delimiter: what stands between them.
        quoted: whether quotation marks enclose a field; otherwise they are text.
    """

    delimiter: str
    quoted: bool

    def field(self, value: str) -> str:
        """A value as a field. Where quotation marks are text, it must not have the delimiter or a line end."""
        if not self.quoted:
            return value
        written = io.StringIO()
        csv.writer(written, delimiter=self.delimiter, lineterminator="").writerow([value])
        return written.getvalue()


def delimited_by(path: Path, encoding: str, suffix: str) -> Delimited:
    """How the fields of a file are written.

    Args:
        path, encoding: of the file.
        suffix: ".csv" or ".tsv".
    """
    delimiter = header_delimiter(path, encoding) if suffix == ".csv" else "\t"
    return Delimited(delimiter, not (delimiter == "\t" and quotes_are_text(path, encoding)))


def delimited_records(text: str, label: str, delimited: Delimited) -> tuple[list[Record], str]:
    """The records of a csv or tsv file, as `salience.data.reading.delimited_rows` reads it, and what follows them.

    Args:
        text: the content of the file.
        label: the column of the labels.
        delimited: how its fields are written.
    """
    delimiter, quoted = delimited
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    plain = rf"[^{re.escape(delimiter)}\r\n]*"
    field = re.compile(rf'"(?:[^"]|"")*"|{plain}' if quoted else plain)
    lines: list[str] = []

    def told() -> Iterator[str]:
        for line in io.StringIO(text, newline=""):
            lines.append(line)
            yield line

    records: list[Record] = []
    names: list[str] = []
    before, column = "", 0
    for fields in fields_of(told(), delimiter=delimiter, quoting=quoting, strict=True):
        own = "".join(lines)
        lines.clear()
        if not names and own.strip():
            names = [name.strip() for name in named_index(fields)]
            column, before = names.index(label), before + own
        elif names and len(fields) == len(names):
            records.append(Record(before, own, field_in(own, field, column)))
            before = ""
        else:
            before += own
    return records, before


def field_in(text: str, field: re.Pattern[str], column: int) -> slice:
    """Where the field with this number is written in a record."""
    start = 0
    for _ in range(column):
        found = field.match(text, start)
        assert found is not None  # it matches nothing, too
        start = found.end() + 1
    found = field.match(text, start)
    assert found is not None
    return slice(start, found.end())


def json_records(text: str, label: str) -> tuple[list[Record], str, bool]:
    """The objects of a JSON file, what follows them, and whether the file is an array.

    Args:
        text: its content, which is valid.
        label: the name of the labels.
    """
    array = text.lstrip().startswith("[")
    if not array:
        return *line_records(text, label), False
    last = 0
    records: list[Record] = []
    position = text.index("[") + 1
    while True:
        between = BETWEEN.match(text, position)
        assert between is not None
        if text.startswith("]", between.end()):
            return records, text[last:], True
        _, position = DECODER.raw_decode(text, between.end())
        own = text[between.end() : position]
        records.append(Record(text[last : between.end()], own, value_in_object(own, label)))
        last = position


def line_records(text: str, label: str) -> tuple[list[Record], str]:
    """The lines that hold objects, and blank lines after them."""
    before = ""
    records: list[Record] = []
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):  # only line feeds end a line
        if line.isspace():
            before += line
        else:
            records.append(Record(before, line, value_in_object(line, label)))
            before = ""
    return records, before


def value_in_object(text: str, name: str) -> slice:
    """Where the value of a name is written in an object; an empty slice if it has no such name."""
    position = after(SPACE, text, text.index("{") + 1)
    while text[position] == '"':
        key, position = scanstring(text, position + 1)
        start = after(SPACE, text, after(SPACE, text, position) + 1)  # behind the colon
        _, position = DECODER.raw_decode(text, start)
        if well_formed(key) == name:
            return slice(start, position)
        position = after(BETWEEN, text, position)
    return slice(0, 0)


def after(pattern: re.Pattern[str], text: str, position: int) -> int:
    """The place behind a pattern that may match nothing."""
    found = pattern.match(text, position)
    assert found is not None
    return found.end()
