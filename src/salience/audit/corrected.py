"""A corrected copy of a data file: labels replaced and rows left out, and every other byte as it was.

csv, tsv and JSON files are edited as text: a new label is written exactly as the first row that has it writes it, with
its quotation marks and its type. A parquet file is written again with the same types and metadata. Where a text can
have several labels, new ones are written in the form of the row's old ones: as a list, with the separator, or as 0 and
1 in their columns.
"""

from __future__ import annotations

import codecs
import gzip
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from salience.audit.edits import Edit, edits_of, opposite, opposite_in_json
from salience.audit.joined_labels import Joined, Rewritten
from salience.audit.records import Record, delimited_by, delimited_records, json_records
from salience.data.columns import Columns
from salience.data.reading import suffix_of
from salience.data.tables import classes_in, seekable
from salience.data.values import Label, indicator_of, labels_of
from salience.errors import InputError
from salience.files import readable, whole_file

UNCHANGED = ""  # no label is empty
MARKS = {  # byte order mark: the encoding without it
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # begins like the mark of UTF-16
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


def write_corrected(
    data: Path, output: Path, label: str | tuple[str, ...], encoding: str, labels: Mapping[int, Label],
    changes: Mapping[int, Label | None], separator: str | None = None,
) -> None:  # fmt: skip
    """Writes a copy of a file with changed labels and without the deleted rows.

    Args:
        data: a file that has been read without an error.
        output: the file to write, of the same kind; gzipped if its name ends in .gz.
        label: the column of the labels, or the columns of 0 and 1.
        encoding: of a text file.
        labels: the label of each row that has one, or its labels.
        changes: the number of a row to its new label, or to None if it is deleted.
        separator: of labels that are joined in one text; None where there are none.

    Raises:
        InputError: without the deleted rows, the copy would be read in another way.
    """
    suffix = suffix_of(data)
    edits = edits_of(label, labels, changes)
    delimited = delimited_by(data, encoding, suffix) if suffix in (".csv", ".tsv") else None
    if suffix == ".parquet":
        content = corrected_parquet(data, edits, labels, separator)
    else:
        with readable(data) as file:
            text, codec, mark = decoded(file.read(), encoding)
        joined = Joined(separator, codec)
        for edit in edits:
            array = False
            if delimited is not None:
                records, end = delimited_records(text, edit.column, delimited)
                rewritten = opposite if edit.indicator else joined.in_fields(delimited)
            else:
                records, end, array = json_records(text, edit.column)
                written = [record.text[record.label] for record in records]
                rewritten = opposite_in_json if edit.indicator else joined.in_json(written)
            text = corrected_text(records, end, labels, edit.changes, array, rewritten)
        content = mark + text.encode(codec)
    with whole_file(output) as unfinished:
        unfinished.write_bytes(content)
        if delimited is not None and delimited_by(unfinished, encoding, suffix) != delimited:
            raise InputError(
                f"{data}: without the deleted rows, its quotation marks would be read as enclosing texts, of which "
                "they are a part: save the data as csv with quoted texts, and run the audit again"
            )
        if output.suffix.lower() == ".gz":
            unfinished.write_bytes(gzip.compress(content, mtime=0))  # without a time, the same copy has the same bytes


def decoded(content: bytes, encoding: str) -> tuple[str, str, bytes]:
    """The text of a file, the codec by which it becomes the same bytes again, and its byte order mark."""
    name = codecs.lookup(encoding).name.removesuffix("-sig")
    for mark, codec in MARKS.items():
        if content.startswith(mark) and codec.removesuffix("-le").removesuffix("-be") == name:
            return content[len(mark) :].decode(codec), codec, mark
    return content.decode(name), name, b""


def corrected_text(
    records: list[Record], end: str, labels: Mapping[int, Label], changes: Mapping[int, Label | None], array: bool,
    rewritten: Rewritten,
) -> str:  # fmt: skip
    """The text with the changes.

    Args:
        records: of the file, in order.
        end: what follows the last record.
        labels: the label of each row that has one, or its labels.
        changes: as of `write_corrected`.
        array: whether what stands before a record separates it from the record before; else it stays.
        rewritten: writes several labels.
    """
    written: dict[Label, str] = {}
    for row, record in enumerate(records, 1):
        if row in labels:
            written.setdefault(labels[row], record.text[record.label])
    parts = []
    for row, record in enumerate(records, 1):
        change = changes.get(row, UNCHANGED)
        if change is None:
            parts += [] if array else [record.before]
            continue
        first = array and not parts
        parts.append(records[0].before if first else record.before)
        text, place = record.text, record.label
        if change != UNCHANGED:
            new = written[change] if isinstance(change, str) else rewritten(change, text[place])
            text = text[: place.start] + new + text[place.stop :]
        parts.append(text)
    if array and not parts:
        parts.append(records[0].before)
    return "".join([*parts, end])


def corrected_parquet(data: Path, edits: Sequence[Edit], labels: Mapping[int, Label], separator: str | None) -> bytes:
    """A parquet file with the changes, of the same schema. A new label has the value of the first row that has it."""
    from pyarrow.parquet import ParquetFile, write_table

    with seekable(data) as file:
        table = ParquetFile(file).read()
    classes = classes_in(table.schema, data)
    first: dict[Label, int] = {}
    for row in sorted(labels):
        first.setdefault(labels[row], row - 1)
    for edit in edits:
        place = table.schema.get_field_index(edit.column)
        numbers = {name: number for number, name in enumerate(classes.get(edit.column, ()))}
        column = corrected_column(table.column(place), edit, first, separator, numbers)
        table = table.set_column(place, table.schema.field(place), column)
    changes = edits[-1].changes
    kept = [row for row in range(len(table)) if changes.get(row + 1, UNCHANGED) is not None]
    content = io.BytesIO()
    write_table(table.take(kept), content)
    return content.getvalue()


def corrected_column(
    column: Any, edit: Edit, first: Mapping[Label, int], separator: str | None, numbers: Mapping[str, int]
) -> Any:
    """A column of a parquet file with the changes.

    New lists of labels, and new values of 0 and 1, are added to the values of the column, so that no other value is
    written anew.

    Args:
        column: a chunked array of pyarrow.
        first: a label to the place of the first row that has it.
        separator: as of `write_corrected`.
        numbers: of the classes, by name, where the column has them in place of the names.
    """
    from pyarrow import array, chunked_array

    joined = Joined(separator, "utf-8")
    rewritten = opposite if edit.indicator else joined.in_values((value.as_py() for value in column), numbers)
    values, new = list(range(len(column))), list[Any]()
    for row, change in edit.changes.items():
        if isinstance(change, str):
            values[row - 1] = first[change]
        elif change is not None:
            values[row - 1] = len(column) + len(new)
            new.append(rewritten(change, column[row - 1].as_py()))
    column = chunked_array([*column.chunks, array(new, column.type)], column.type) if new else column
    return column.take(values)


def label_of_row(row: dict, columns: Columns) -> Label | None:
    """The label of a row as it is read, or its labels; None if it has none or no valid one."""
    try:
        if not columns.several:
            return labels_of(row.get(columns.label), columns.separator)
        values = {name: indicator_of(row.get(name)) for name in columns.several}
    except TypeError:
        return None
    return None if None in values.values() else tuple(name for name, value in values.items() if value == "1")


def check_output_kind(data: Path, output: Path) -> None:
    """Raises an `InputError` if the copy would be of another kind than the data."""
    if suffix_of(data) != suffix_of(output):
        raise InputError(f"{output} must end in {suffix_of(data)}, as {data} does: a copy keeps the format")
