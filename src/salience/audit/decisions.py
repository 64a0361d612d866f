"""decisions.csv, the rows that an audit suggests to change, and the corrected copy that follows from the decisions.

In the copy, every other value, and the format, stay. A new label is the value that the first row with it has; several
labels are written in the form of the row's old ones.
"""

from __future__ import annotations

import codecs
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from salience.audit.findings import Finding, named, rows_of, written
from salience.data.columns import Columns
from salience.data.labels import separate
from salience.data.reading import DELIMITED, Form, encoding_of, form_of, in_utf8, stream, suffix_of
from salience.data.tables import python_values, seekable
from salience.data.texts import Texts
from salience.data.values import (
    Label,
    holder,
    indicator_of,
    joined,
    labels_of,
    listed_values,
    outer_name,
    value_at,
)
from salience.data.writing import FORMULA, OPENERS
from salience.errors import InputError, counted, listed, nearest, quoted, unknown
from salience.files import packing_of, readable_text, whole_file

COLUMNS = ("row", "label", "suggested", "decision", "reason", "text")
KEEP, DELETE, RELABEL = "keep", "delete", "relabel"
LABEL = "label:"  # before a label that is called as a decision
LONGEST = 500  # characters of a text that are shown
DELETED = None  # in place of a new label
OPPOSITES = {"1": "0", "0": "1", "true": "false", "false": "true", "True": "False", "False": "True", "TRUE": "FALSE",
             "FALSE": "TRUE"}  # fmt: skip


def decision_rows(findings: Sequence[Finding], texts: Texts, labels: Sequence[str]) -> list[dict[str, str]]:
    """The lines of decisions.csv: every row that its label, a near-duplicate, a test row or its distance brings up.

    The first row of near-duplicates of one label is left out: it is the one to keep. A row has one line, with all
    reasons.
    """
    reasons: dict[int, list[str]] = defaultdict(list)
    suggested: dict[int, str] = {}
    for finding in findings:
        rows = finding.rows
        if finding.kind == "label":
            suggested[rows[0]] = written(finding.details["suggested"])
            reasons[rows[0]].append("the label is likely wrong")
        elif finding.kind == "duplicate":
            differ = len({written(label) for label in finding.details["labels"]}) > 1
            what = "nearly equal, with other labels" if differ else "nearly equal"
            for row in rows if differ else rows[1:]:
                others = listed((str(other) for other in rows if other != row), 3)
                reasons[row].append(f"{what}: row {others}")
        elif finding.kind == "leak":
            for row in rows:
                reasons[row].append(f"nearly equal to test row {finding.details['test_rows'][0]}")
        elif finding.kind == "outlier":
            reasons[rows[0]].append("far from all other rows")
    places = {row: place for place, row in enumerate(rows_of(texts))}
    lines = []
    for row, why in reasons.items():
        text = " | ".join(column[places[row]] for column in texts.columns)
        lines.append({
            "row": str(row), "label": written(named(texts.known_labels[places[row]], labels)),
            "suggested": suggested.get(row, ""), "decision": "", "reason": "; ".join(why),
            "text": text if len(text) <= LONGEST else f"{text[:LONGEST]}...",
        })  # fmt: skip
    return lines


def as_decision(label: str) -> str:
    """A label as the column `decision` has it."""
    plain = label.lower() not in (KEEP, DELETE, RELABEL) and label == label.strip() and not label.startswith(LABEL)
    return label if plain else f"{LABEL}{label}"


def has_decisions(file: Path) -> bool:
    """Whether a person has filled in a decision; also if the file cannot be read."""
    try:
        return any(str(line.get("decision") or "").strip() for line in stream(file))
    except InputError as error:
        return "no rows" not in str(error)


def read_decisions(file: str, labels_of_rows: Mapping[int, Label], data: str) -> dict[int, Label | None]:
    """What is to be changed by decisions.csv: the number of a row to its new label, or `DELETED`.

    Raises:
        InputError: the file is not UTF-8 or lacks a column, or a line does not fit the data; names the line.
    """
    known = sorted({name for label in labels_of_rows.values() for name in separate(label)})
    several = any(isinstance(label, tuple) for label in labels_of_rows.values())
    row_of = {str(row): row for row in labels_of_rows}
    changes: dict[int, Label | None] = {}
    decided: dict[int, int] = {}
    with in_utf8(file):
        lines = list(stream(file))
    for number, line in enumerate(lines, 1):
        place = f"{file}: row {number}"
        for column in COLUMNS[:4]:
            if not isinstance(line.get(column), str):
                raise InputError(f"{file}: no column {quoted(column)}; take the file that `salience audit` wrote")
        decision = line["decision"].strip()
        if not decision:
            continue
        kind, new = decision.lower(), line["suggested"]
        column = f'{place}, column "suggested"'
        if itself := kind not in (KEEP, DELETE, RELABEL):  # the right label
            kind, new, column = RELABEL, line["decision"].lstrip().removeprefix(LABEL), f'{place}, column "decision"'
            new = new if new in known else new.strip()
        row = row_of.get(line["row"].strip())
        if row is None:
            raise InputError(f"{place}: {data} has no row {quoted(line['row'])} with a label; restore the number")
        if row in decided:
            raise InputError(f"{place}: row {row} is decided in row {decided[row]} already; remove one of the two")
        decided[row] = number
        own, given = labels_of_rows[row], read_label(line["label"], known, several, f'{place}, column "label"')
        if not same(given, own):
            raise InputError(
                f"{place}: row {row} of {data} has the label {told(own)}, not {told(given)}; the file was made from "
                "other data, so run the audit again, or a spreadsheet has changed it: open it with text columns"
            )
        if kind == DELETE:
            changes[row] = DELETED
        elif kind == RELABEL:
            label = read_label(new, known, several, column)
            for name in separate(label):
                if name in known:
                    continue
                if itself:
                    words = unknown("decision", name, [KEEP, DELETE, RELABEL])
                    labels = listed(map(quoted, known), 10)
                    raise InputError(f"{place}: {words} Or a label of the data: {labels}.{nearest(name, known)}")
                raise InputError(f"{column}: {unknown('label', name, known)}")
            if not same(label, own):
                changes[row] = label
    if lines and not decided:
        raise InputError(f'{file}: the column "decision" is empty in {counted(len(lines), "row")}: fill it in')
    return changes


def read_label(text: str, known: Sequence[str], several: bool, place: str) -> Label:
    """A label of decisions.csv, or a list of labels."""
    if not several:  # an apostrophe stands before what a spreadsheet would take for a formula
        return text[1:] if text not in known and text.startswith("'") and text[1:].startswith(FORMULA) else text
    try:
        names = listed_values(text)
    except TypeError:
        names = None
    if names is None or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InputError(f'{place}: {quoted(text)} is no list of different labels; write it as ["joy", "fear"], or []')
    return tuple(names)


def same(one: Label, other: Label) -> bool:
    return set(separate(one)) == set(separate(other))  # lists of labels have no order


def told(label: Label) -> str:
    return quoted(label) if isinstance(label, str) else written(list(label))


def label_of_row(row: dict, columns: Columns) -> Label | None:
    """The label of a row as it is read, or its labels; None if it has none or no valid one."""
    try:
        if not columns.several:
            return labels_of(value_at(row, str(columns.label)), columns.separator, columns.empty_label)
        values = {name: indicator_of(value_at(row, name)) for name in columns.several}
    except TypeError:
        return None
    return None if None in values.values() else tuple(name for name, value in values.items() if value == "1")


def write_corrected(
    data: Path, output: Path, label: str | tuple[str, ...], encoding: str, labels: Mapping[int, Label],
    changes: Mapping[int, Label | None], separator: str | None = None, empty_label: str = "error",
) -> None:  # fmt: skip
    """Writes a copy of a file with changed labels and without the deleted rows, compressed if its name says so.

    `label` is the column of the labels, or the columns of 0 and 1; `labels` are those of each row that has some;
    `changes` are as of `read_decisions`; `separator` and `empty_label` as of `Columns`. Of a workbook, the
    values of its first sheet are written.
    """
    # Where the encoding may lack a character, JSON writes it by its number.
    in_ascii = not codecs.lookup(encoding).name.startswith("utf")
    as_text = partial(joined, separator=separator, empty_label=empty_label, in_ascii=in_ascii)
    with whole_file(output) as unfinished:
        if suffix_of(data) == ".parquet":
            import pyarrow
            from pyarrow.parquet import ParquetFile, write_table

            with seekable(data) as file:
                table = ParquetFile(file).read()
            names = table.schema.names
            columns = list(dict.fromkeys(outer_name(each, names) for each in separate(label)))
            values = zip(*(python_values(table.column(name)) for name in columns), strict=True)
            rows = [dict(zip(columns, row, strict=True)) for row in values]
            kept = relabelled(rows, label, labels, changes, as_text)
            for name in columns:
                place = table.schema.get_field_index(name)
                field = table.schema.field(place)
                table = table.set_column(place, field, pyarrow.array([row[name] for row in rows], field.type))
            write_table(table.take(kept), unfinished)
        else:
            rows = list(stream(data, encoding))
            kept = relabelled(rows, label, labels, changes, as_text)
            write_rows(unfinished, [rows[place] for place in kept], list(rows[0]), data, encoding, in_ascii)
        if packing := packing_of(output):
            unfinished.write_bytes(packing.pack(unfinished.read_bytes()))


def relabelled(
    rows: Sequence[dict[str, Any]], label: str | tuple[str, ...], labels: Mapping[int, Label],
    changes: Mapping[int, Label | None], as_text: Callable[[Sequence[str]], str],
) -> list[int]:  # fmt: skip
    """Gives rows their new labels, and tells the places, from 0, of those that are not deleted.

    `as_text` writes several labels of a row as one text.
    """
    first: dict[str, Any] = {}  # a label to the value that the first row with it has
    if isinstance(label, str):
        for number, own in labels.items():
            value = value_at(rows[number - 1], label)
            if isinstance(own, str):
                first.setdefault(own, value)
            elif isinstance(value, list):
                for name, each in zip(own, value, strict=True):
                    first.setdefault(name, each)
    for number, new in changes.items():
        row = rows[number - 1]
        if new is DELETED:
            continue
        if not isinstance(label, str):
            for name in label:
                if (name in new) != (name in labels[number]):
                    owner, own_name = holder(row, name) or (row, name)
                    owner[own_name] = opposite(owner[own_name])
            continue
        owner, own_name = holder(row, label) or (row, label)
        old = owner.get(own_name)
        if isinstance(new, str):
            owner[own_name] = first[new]
        elif isinstance(old, list) or (old is None and first):  # `first` has labels of lists alone
            owner[own_name] = [first.get(name, name) for name in new]
        else:
            owner[own_name] = as_text(new)
    return [place for place in range(len(rows)) if changes.get(place + 1, "") is not DELETED]


def opposite(old: Any) -> Any:
    """The other value of a column of 0 and 1, written as the old one: 1.0 for 0.0, false for true."""
    if not isinstance(old, str):
        return type(old)(1 - old)  # of a bool, too
    for this, other in OPPOSITES.items():
        if this in old:
            return old.replace(this, other, 1)
    return "0" if "true" in old.lower() else "1"


def write_rows(
    output: Path, rows: Sequence[dict[str, Any]], columns: list[str], data: Path, encoding: str, in_ascii: bool
) -> None:
    """Writes rows as the file `data` has them: csv, tsv, xlsx, JSON lines or an array of JSON."""
    suffix = suffix_of(data)
    if suffix in (*DELIMITED, ".xlsx"):
        form = form_of(data, encoding) if suffix in DELIMITED else Form()
        with OPENERS[suffix](output, dict.fromkeys(columns, "string"), False, print, form) as write:
            write(list(rows))
        return
    with open(output, "w", encoding=encoding_of(data, encoding), newline="") as copy:
        with readable_text(data, encoding) as text:
            array = next(mark for mark in iter(lambda: text.read(1), "") if not mark.isspace()) == "["
        lines = [json.dumps(row, ensure_ascii=in_ascii) for row in rows]
        copy.write("[\n" + ",\n".join(lines) + "\n]\n" if array else "\n".join(lines) + "\n")
