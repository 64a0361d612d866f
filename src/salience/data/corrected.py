"""Corrected rows: what a person says of some texts in a file, put in the place of the rows of the data.

`salience correct` makes a page that saves such a file. It has the text, or both texts of a pair, in columns of the
same names as the data, and as far as a person has said something `label`, and `marks` and `ignore` in the forms of
`salience.data.marks`. Further columns say what a model made of the texts before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from salience.data.columns import Columns
from salience.data.labels import separate
from salience.data.marks import Mark
from salience.data.reading import column_names, in_utf8, stream
from salience.data.splitting import stripped
from salience.data.task import with_marks
from salience.data.texts import Texts
from salience.data.values import Label, indicator_of, labels_of, text_of, value_at, value_in
from salience.data.writing import FORMULA
from salience.errors import InputError, counted, listed, nearest, quoted

LABEL, PREDICTED = "label", "predicted"
SHARES = {"marks": "marks_share", "ignore": "ignore_share"}  # of the explanation, on the words of either column
COLUMNS = (LABEL, *SHARES, PREDICTED, *SHARES.values())  # beside those of the texts

Key = tuple[str, ...]  # a text, or both texts of a pair, without the space around them


@dataclass(frozen=True)
class Correction:
    """What a person says of a text.

    Attributes:
        row: its number in the file of corrections.
        texts: the text, or both texts of a pair, as the file has them.
        label: None where nothing is said of it.
        marked: the values of the columns `marks` and `ignore`; None where the file has neither.
        before: `PREDICTED`, a list of labels, and the `SHARES`, from 0 to 1, as far as they are known.
    """

    row: int
    texts: Key
    label: Label | None
    marked: Mapping[str, Any] | None
    before: Mapping[str, Any]


class Corrected(NamedTuple):
    """The rows of the data after the corrections, those that were added last."""

    texts: Texts
    labels: list[Label]
    corrections: dict[Key, Correction]  # those that have a place
    note: str


def with_corrections(
    rows: Texts, labels: Sequence[Label], columns: Columns, source: str, data: str, described: Collection[str] = ()
) -> Corrected:
    """The rows of the data with what the file `source` says of their texts.

    A text that stands several times in the data is corrected everywhere; space around texts is ignored. A row keeps
    its label where the file says nothing of it, and its marks where the file has no column of marks. A text that is
    not in the data is added if it has a label, as a group of its own.

    Args:
        data: the name of the data, for messages.
        described: labels that exist by their descriptions.

    Raises:
        InputError: the file lacks a text column; a row has no text, a label that no row of the data has, or marks that
            do not fit; a text has two different corrections; or none of the texts has a place.
    """
    keys = stripped(rows)
    places = set(keys)
    known = {*columns.several, *described, *(name for label in labels for name in separate(label))}
    read = read_corrections(source, columns, data, places, known, isinstance(labels[0], tuple))
    said = {key: each for key, each in read.items() if each.label is not None or key in places}
    if not said:
        raise InputError(f"{source}: none of its texts is in {data}, and none has a label: is it the right file?")
    added = {key: each for key, each in said.items() if key not in places}
    if added:
        groups = [f"{source}: row {each.row}" for each in added.values()]
        more: dict[str, Any] = {"groups": groups, "marks": [[]] * len(added), "ignore": [[]] * len(added)}
        kept = {name: own for name, own in more.items() if getattr(rows, name) is not None}
        kept["files"] = [source] * len(added)
        own_files = rows.files or [data] * len(rows)
        rows = Texts.concatenated([replace(rows, files=own_files), replace(texts_of(added), **kept)])
    keys, of_rows = [*keys, *added], [*labels, *(each.label for each in added.values() if each.label is not None)]
    own = {name: list(getattr(rows, name) or [[]] * len(rows)) for name in SHARES}
    own_labels = dict(zip(reversed(keys), reversed(of_rows), strict=True))
    final = [own_labels[key] if each.label is None else each.label for key, each in said.items()]
    found = marks_of(said, final, columns, source, known)
    changed = 0
    for place, key in enumerate(keys):
        if (each := said.get(key)) is None:
            continue
        if each.label is not None:
            changed += {*separate(each.label)} != {*separate(of_rows[place])}
            of_rows[place] = each.label
        if each.marked is not None:
            for name, of_texts in found[key].items():
                own[name][place] = shifted(of_texts, each.texts, [column[place] for column in rows.columns])
    given: dict[str, Any] = {
        name: values for name, values in own.items() if any(values) or getattr(rows, name) is not None
    }
    replaced = sum(key in said for key in keys) - len(added)
    note = f"{source}: {counted(replaced, 'row')} replaced" + f" ({changed:,} with another label)" * (changed > 0)
    if added:
        note += f" and {counted(len(added), 'row')} added"
    if left := len(read) - len(said):
        note += f"; left out: {counted(left, 'text')} that the data do not have, without a label"
    return Corrected(replace(rows, **given), of_rows, said, note)


def read_corrections(
    source: str, columns: Columns, data: str, keys: Collection[Key], known: Collection[str], several: bool
) -> dict[Key, Correction]:
    """The corrections of a file by their texts, in its order.

    Args:
        keys: the texts of the data.
        known: the names of the labels.
        several: whether a text of the data can have several labels.
    """
    with in_utf8(source):
        names, rows = column_names(source), list(stream(source))
    of_texts = [named(name, names) for name in (columns.text, columns.text_pair) if name is not None]
    for name in of_texts:
        if name not in names:
            raise InputError(
                f"{source}: no column {quoted(name)}, by which the rows of {data} are found; the columns are "
                f"{listed(map(quoted, names))}.{nearest(name, names)}"
            )
    own = columns.several or (str(columns.label),)
    of_label = own if all(name in names for name in own) else (LABEL,)
    roles = [role for role in SHARES if role in names]
    if not roles and not any(name in names for name in of_label):
        raise InputError(
            f"{source}: it corrects nothing: none of its columns {listed(map(quoted, names))} is "
            f"{listed(map(quoted, (*of_label, *SHARES)))}"
        )
    found: dict[Key, Correction] = {}
    for number, row in enumerate(rows, 1):
        texts = tuple(value_in(row, name, text_of, number, source) or "" for name in of_texts)
        if not all(texts):
            raise InputError(f"{source}: row {number}, column {quoted(of_texts[texts.index('')])}: there is no text")
        if stripped_key(texts) not in keys:
            texts = tuple(map(unquoted, texts))
        label = None
        if all(name in names for name in of_label):
            label = label_in(row, number, source, of_label, columns, known, several)
        marked = {role: value_at(row, role) for role in roles} if roles else None
        each = Correction(number, texts, label, marked, before_in(row, several))
        first = found.setdefault(stripped_key(texts), each)
        if (first.label, first.marked) != (label, marked):
            raise InputError(
                f"{source}: rows {first.row} and {number} have one text, and different corrections: remove one of them"
            )
    return found


def label_in(
    row: Mapping[str, Any], number: int, source: str, names: Sequence[str], columns: Columns, known: Collection[str],
    several: bool,
) -> Label | None:  # fmt: skip
    """What a row says of the label of its text; an error names row and column."""
    if columns.several and names == columns.several:
        found = {name: value_in(row, name, indicator_of, number, source) for name in names}
        if missing := [name for name, value in found.items() if value is None]:
            if len(missing) < len(found):
                raise InputError(f"{source}: row {number}, column {quoted(missing[0])}: write 0 or 1, or empty all")
            return None
        return tuple(name for name, value in found.items() if value == "1")
    place = f"{source}: row {number}, column {quoted(names[0])}"
    try:
        label = labels_of(value_at(row, names[0]), columns.separator)
    except TypeError as error:
        raise InputError(f"{place}: {error}") from error
    if label is None:
        return None
    if isinstance(label, tuple) != several:
        form = 'a list, such as ["joy"]' if several else "one label"
        raise InputError(f"{place}: {quoted(value_at(row, names[0]))} is not {form}, as the rows of the data have")
    if isinstance(label, str):
        label = label if label in known else unquoted(label)
    for name in separate(label):
        if name not in known:
            raise InputError(
                f"{place}: no row of the data has the label {quoted(name)}, but {listed(map(quoted, sorted(known)))}."
                f"{nearest(name, known)} Add rows of a new label to the data"
            )
    return label


def before_in(row: Mapping[str, Any], several: bool) -> dict[str, Any]:
    """What the page has saved of the model that it was made by, as far as it can be read."""
    found: dict[str, Any] = {}
    with suppress(TypeError):
        if (predicted := labels_of(value_at(row, PREDICTED))) is not None and isinstance(predicted, tuple) == several:
            found[PREDICTED] = [unquoted(name) for name in separate(predicted)]
    for share in SHARES.values():
        with suppress(TypeError, ValueError):
            if 0 <= (value := float(value_at(row, share))) <= 1:
                found[share] = value
    return found


def marks_of(
    said: Mapping[Key, Correction], labels: Sequence[Label], columns: Columns, source: str, known: Collection[str]
) -> dict[Key, dict[str, list[Mark]]]:
    """The marks of corrected texts, with these labels, by the roles `marks` and `ignore`."""
    values = {role: [(each.marked or {}).get(role) for each in said.values()] for role in SHARES}
    own = replace(columns, marks="marks", ignore="ignore")
    found = with_marks(texts_of(said), labels, values, own, source, known)
    both = zip(found.marks or [], found.ignore or [], strict=True)
    return {key: dict(zip(SHARES, marks, strict=True)) for key, marks in zip(said, both, strict=True)}


def texts_of(said: Mapping[Key, Correction]) -> Texts:
    columns = [list(column) for column in zip(*(each.texts for each in said.values()), strict=True)]
    second = columns[1] if len(columns) > 1 else None
    return Texts(columns[0], second, rows=[each.row for each in said.values()])


def shifted(marks: Sequence[Mark], texts: Sequence[str], others: Sequence[str]) -> list[Mark]:
    """The marks of texts in `others`, which differ in the space around them alone."""
    spaces = [
        (len(other) - len(other.lstrip())) - (len(text) - len(text.lstrip()))
        for text, other in zip(texts, others, strict=True)
    ]
    return [
        mark._replace(start=max(mark.start + spaces[mark.second], 0), end=mark.end + spaces[mark.second])
        for mark in marks
    ]


def stripped_key(texts: Sequence[str]) -> Key:
    return tuple(text.strip() for text in texts)


def unquoted(text: str) -> str:
    """A text without the apostrophe by which it is no formula to a spreadsheet."""
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text


def named(name: str, names: Collection[str]) -> str:
    """The name of a column, as the file has it."""
    return quoted_name if name not in names and (quoted_name := f"'{name}") in names else name
