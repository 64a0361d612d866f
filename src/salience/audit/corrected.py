"""A corrected copy of a data file: labels replaced and rows left out; every other value, and the format, stay.

A new label is the value that the first row with it has, and so has its type. Where a text can have several labels, new
ones are written in the form of the row's old ones: as a list, with the separator, or as 0 and 1 in their columns.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from salience.data.columns import Columns
from salience.data.reading import header_delimiter, stream, suffix_of
from salience.data.tables import python_values, seekable
from salience.data.values import Label, indicator_of, labels_of
from salience.files import readable, readable_text, whole_file


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
    """
    # Where the encoding may lack a character, JSON writes it by its number.
    in_ascii = not codecs.lookup(encoding).name.startswith("utf")
    with whole_file(output) as unfinished:
        if suffix_of(data) == ".parquet":
            import pyarrow
            from pyarrow.parquet import ParquetFile, write_table

            with seekable(data) as file:
                table = ParquetFile(file).read()
            columns = (label,) if isinstance(label, str) else label
            values = zip(*(python_values(table.column(name)) for name in columns), strict=True)
            rows = [dict(zip(columns, row, strict=True)) for row in values]
            relabel(rows, label, labels, changes, separator, in_ascii)
            for name in columns:
                place = table.schema.get_field_index(name)
                field = table.schema.field(place)
                table = table.set_column(place, field, pyarrow.array([row[name] for row in rows], field.type))
            write_table(table.take([place for place in range(len(rows)) if is_kept(place, changes)]), unfinished)
        else:
            rows = list(stream(data, encoding))
            relabel(rows, label, labels, changes, separator, in_ascii)
            kept = [row for place, row in enumerate(rows) if is_kept(place, changes)]
            write_rows(unfinished, kept, list(rows[0]), data, encoding, in_ascii)
        if output.suffix.lower() == ".gz":
            unfinished.write_bytes(gzip.compress(unfinished.read_bytes(), mtime=0))  # the same copy has the same bytes


def is_kept(place: int, changes: Mapping[int, Label | None]) -> bool:
    """Whether the row at a place, counted from 0, is not deleted."""
    return changes.get(place + 1, ()) is not None


def relabel(
    rows: Sequence[dict[str, Any]], label: str | tuple[str, ...], labels: Mapping[int, Label],
    changes: Mapping[int, Label | None], separator: str | None, in_ascii: bool,
) -> None:  # fmt: skip
    """Gives rows their new labels. Arguments as of `write_corrected`; `in_ascii`: whether JSON has only ASCII."""
    first: dict[str, Any] = {}  # a label to the value that the first row with it has
    if isinstance(label, str):
        for number, own in labels.items():
            value = rows[number - 1][label]
            if isinstance(own, str):
                first.setdefault(own, value)
            elif isinstance(value, list):
                for name, each in zip(own, value, strict=True):
                    first.setdefault(name, each)
    for number, new in changes.items():
        row = rows[number - 1]
        if new is None:
            continue
        if not isinstance(label, str):
            for name in label:
                if (name in new) != (name in labels[number]):
                    row[name] = opposite(row[name])
        elif isinstance(new, str):
            row[label] = first[new]
        elif isinstance(row[label], list):
            row[label] = [first.get(name, name) for name in new]
        elif separator is None or not new:
            row[label] = json.dumps(list(new), ensure_ascii=in_ascii)
        else:
            row[label] = separator.join(new)


def opposite(old: Any) -> Any:
    """The other value of a column of 0 and 1, written as the old one: 1.0 for 0.0, false for true."""
    if not isinstance(old, str):
        return type(old)(1 - old)  # of a bool, too
    for yes, no in (("1", "0"), ("true", "false"), ("True", "False"), ("TRUE", "FALSE")):
        for this, other in ((yes, no), (no, yes)):
            if this in old:
                return old.replace(this, other, 1)
    return "0" if "true" in old.lower() else "1"


def write_rows(
    output: Path, rows: Sequence[dict[str, Any]], columns: list[str], data: Path, encoding: str, in_ascii: bool
) -> None:
    """Writes rows as csv, tsv, JSON lines or an array of JSON: as the text file `data` has them."""
    suffix = suffix_of(data)
    with readable(data) as file:
        marked = file.read(3) == codecs.BOM_UTF8 and codecs.lookup(encoding).name == "utf-8"
    with open(output, "w", encoding="utf-8-sig" if marked else encoding, newline="") as copy:
        if suffix in (".csv", ".tsv"):
            # Unquoted, a name with a mark of these could be taken for several columns.
            misleading = any(mark in name for name in columns for mark in ",;\t")
            delimiter = "\t" if suffix == ".tsv" else header_delimiter(data, encoding)
            writer = csv.DictWriter(
                copy, columns, delimiter=delimiter, quoting=csv.QUOTE_ALL if misleading else csv.QUOTE_MINIMAL
            )
            writer.writeheader()
            writer.writerows(rows)
            return
        with readable_text(data, encoding) as file:
            array = next(mark for mark in iter(lambda: file.read(1), "") if not mark.isspace()) == "["
        lines = [json.dumps(row, ensure_ascii=in_ascii) for row in rows]
        copy.write("[\n" + ",\n".join(lines) + "\n]\n" if array else "\n".join(lines) + "\n")


def label_of_row(row: dict, columns: Columns) -> Label | None:
    """The label of a row as it is read, or its labels; None if it has none or no valid one."""
    try:
        if not columns.several:
            return labels_of(row.get(columns.label), columns.separator)
        values = {name: indicator_of(row.get(name)) for name in columns.several}
    except TypeError:
        return None
    return None if None in values.values() else tuple(name for name, value in values.items() if value == "1")
