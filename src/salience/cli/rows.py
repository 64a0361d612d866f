"""The texts of a file for the commands about a trained model: complete rows, with labels that the model knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from salience.classify import load
from salience.data.columns import LABELS, Columns, choose_as_trained, usual
from salience.data.marks import marks_in
from salience.data.reading import column_names, stream
from salience.data.texts import UNKNOWN, Texts
from salience.data.values import (
    Label,
    indicator_of,
    label_columns,
    label_of,
    labels_of,
    text_of,
    value_in,
)
from salience.errors import InputError, counted, listed, nearest, quoted, rows_listed
from salience.explainers.explain import TEXTS
from salience.report.terminal import tell
from salience.runs.folder import trained_columns
from salience.work import doing


@contextmanager
def cannot(doing: str) -> Iterator[None]:
    """A context in which a `ValueError` becomes an `InputError` that begins with "cannot" and `doing`."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"cannot {doing}: {error}") from error


def check_model_and_data(models: Sequence[str], data: str | None, columns: Mapping[str, Any]) -> None:
    """Raises an `InputError` if a model cannot be loaded, or the columns of the data do not fit; tells no notes.

    Arguments as of `read_texts`.
    """
    for model in models:
        load(model, device="cpu")
    if data is not None:
        named = {role: columns.get(role) for role in ("text", "text_pair", "label")}
        choose_as_trained(
            column_names(data, columns["encoding"]), trained_columns(models[0]), named, named["label"] is not None,
            source=data, text_option=columns.get("text_option", "--text"),
        )  # fmt: skip


def labelled_texts(
    data: str, labels: Sequence[str], trained: Columns | None, most: int | None, columns: Mapping[str, Any],
    marks: str | None = None, multi_label: bool = False, read_marks: Callable[..., list] = marks_in,
) -> Texts:  # fmt: skip
    """The texts of a file whose label the model knows, of which there must be some; arguments as of `read_texts`."""
    read = data, labels, trained, most, columns, marks
    every = Texts.concatenated(read_texts(*read, needed=True, multi_label=multi_label, read_marks=read_marks))
    if not len(every):
        raise InputError(f"{data} has no texts")
    known = np.flatnonzero(every.labelled)
    if not len(known):
        raise InputError(
            f"{data}: no row has a label that the model knows ({listed(labels)}); check its --label column"
        )
    if len(known) < len(every):
        tell(f"{data}: {len(every) - len(known)} of {len(every)} texts are left out: the model lacks their label")
    return every.take(known)


def read_texts(
    data: str, labels: Sequence[str] | None, trained: Columns | None, most: int | None, columns: Mapping[str, Any],
    marks: str | None = None, option: str = "--marks", needed: bool = False, multi_label: bool = False,
    read_marks: Callable[..., list] = marks_in,
) -> Iterator[Texts]:  # fmt: skip
    """The texts of a file with the numbers of their rows, in parts of `TEXTS` texts.

    Rows without a text are left out; a note at the end says how many. A label that the model does not know becomes
    `UNKNOWN`.

    Args:
        labels: those of the model; None reads no labels.
        trained: the columns that the model was trained on; None if they are not known.
        most: number of texts to read; None reads all.
        columns: "encoding", and the names that the user gave for "text", "text_pair" and "label"; "text_option" is
            the option that names the first, for error messages.
        marks: a column of marked words, which `option` names.
        needed: whether a file without any known label is refused.
        multi_label: whether a text can have several labels. They are then 0 and 1 (N, C), or all `UNKNOWN`.
        read_marks: what reads a value of the column, as `marks_in`. Marks with the name of any label count where a
            text can have several, or has none that is known.

    Raises:
        InputError: the file is invalid, marks do not fit their text, or no label is known and one is needed.
    """
    if most is not None and most < 1:
        raise InputError(f"the number of texts to read must be at least 1, not {most}")
    names = column_names(data, columns["encoding"])
    if marks is not None and marks not in names:
        raise InputError(f"{data}: no column {quoted(marks)} for {option}; the columns are {listed(names)}")
    chosen = columns_in([name for name in names if name != marks], data, labels is not None, trained, columns)
    read_columns = chosen.names | ({marks} if marks is not None else set())
    none_known = np.full(len(labels or ()), UNKNOWN) if multi_label else UNKNOWN

    empty: list[int] = []  # numbers of rows
    unseen: dict[int, str] = {}  # number of a row: a label that the model does not know
    read = 0
    rows: list[tuple] = []  # that are not yet given: text, second text, number, label, marks

    def given() -> Texts:
        texts, second, numbers, known, marked = (list(values) for values in zip(*rows, strict=True))
        rows.clear()
        return Texts(
            texts, second if chosen.text_pair else None, np.array(known) if chosen.label else None, numbers,
            marked if marks is not None else None,
        )  # fmt: skip

    for number, row in enumerate(stream(data, columns["encoding"], columns=read_columns), 1):
        text = value_in(row, chosen.text, text_of, number, data)
        second = value_in(row, chosen.text_pair, text_of, number, data) if chosen.text_pair else ""
        if text is None or second is None:
            empty.append(number)
            continue
        if read == most:
            tell(f"{data}: only its first {most} texts are read")
            break
        read += 1
        known: Any = none_known
        if (own := labels_in(row, number, data, chosen, multi_label)) is not None and labels is not None:
            strange = [name for name in own if name not in labels]
            if strange:
                unseen[number] = strange[0]
            else:
                known = [int(label in own) for label in labels] if multi_label else labels.index(own[0])
        marked = None
        if marks is not None:
            texts = {str(chosen.text): text} | ({chosen.text_pair: second} if chosen.text_pair else {})
            counting = (labels or ()) if multi_label or own is None else own
            fitting = partial(read_marks, texts=texts, own=counting, labels=labels or ())
            marked = value_in(row, marks, fitting, number, data)
        rows.append((text, second, number, known, marked))
        if len(rows) == TEXTS:
            yield given()
    if empty:
        what = "both texts" if chosen.text_pair else "a text"
        tell(f"{data}: left out {counted(len(empty), 'row')} without {what} ({rows_listed(empty)})")
    if unseen:
        first = next(iter(unseen))
        problem = (
            f"{data}: {counted(len(unseen), 'row')} with a label that the model does not know, the first being row "
            f"{first}: {quoted(unseen[first])}; it knows {listed(map(quoted, labels or ()))}."
            f"{nearest(unseen[first], labels or ())}"
        )
        if needed and len(unseen) == read:
            raise InputError(f"{problem} --label names another column.")
        tell(problem)
    if rows:
        yield given()


@doing("counting rows")
def count_rows(data: str, encoding: str, most: int | None = None) -> int:
    """The number of rows of a file, up to `most`; of typed tables, one column is read."""
    column = column_names(data, encoding)[:1]
    return sum(1 for _ in islice(stream(data, encoding, columns=column), most))


def columns_in(
    names: Sequence[str], data: str, labelled: bool, trained: Columns | None, columns: Mapping[str, Any]
) -> Columns:
    """The columns that are read of those in a file; how they were found is told."""
    chosen, notes = found_columns(names, data, labelled, trained, columns)
    for note in notes:
        tell(note)
    return chosen


def found_columns(
    names: Sequence[str], data: str, labelled: bool, trained: Columns | None, columns: Mapping[str, Any]
) -> tuple[Columns, list[str]]:
    """The columns that are read of those in a file, and notes on how they were found.

    Labels are optional: where none is named or known, a column is taken for the label only if its name is a usual one.
    """
    named = {role: columns.get(role) for role in ("text", "text_pair", "label")}
    as_trained = () if trained is None else label_columns(trained.label, names)
    need_label = labelled and (
        named["label"] is not None
        or (len(as_trained) > 0 and set(names).issuperset(as_trained))
        or (len(names) > 1 and usual(names, LABELS) is not None)
    )
    return choose_as_trained(
        names, trained, named, need_label, source=data, text_option=columns.get("text_option", "--text")
    )


def labels_in(row: Mapping, number: int, data: str, columns: Columns, multi_label: bool) -> Sequence[str] | None:
    """The names of a row's labels; None if they are not given, or the file has none."""
    if columns.label is None:
        return None
    if columns.several and multi_label:
        found = {name: value_in(row, name, indicator_of, number, data) for name in columns.several}
        return None if None in found.values() else [name for name, value in found.items() if value == "1"]
    several = partial(labels_of, separator=columns.separator, empty_label=columns.empty_label)
    kind: Callable[[object], Label | None] = several if multi_label else label_of
    label = value_in(row, columns.label, kind, number, data)
    return [label] if isinstance(label, str) else label
