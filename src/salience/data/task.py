"""A classification task: labelled texts to train on, to choose the model by, and to test on."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from salience.data.columns import Columns, choose_columns
from salience.data.reading import column_names, stream
from salience.data.texts import Texts
from salience.data.values import (
    Label,
    group_of,
    indicator_of,
    joined_labels,
    labels_of,
    mixed_kinds,
    text_of,
    value_in,
)
from salience.errors import InputError, counted, listed, quoted, rows_listed, unknown
from salience.files import readable_text
from salience.settings import read_yaml_texts

# Whether two names are of the same data, so that what is read is neither used twice nor replaced.


def same_source(one: str, other: str) -> bool:
    """Whether two names are of one file, or of one data set on the hub."""
    try:
        return os.path.samefile(one, other)
    except OSError:  # one is not a file
        return one == other


def check_not_read(output: Path | None, *sources: str | None) -> None:
    """Raises an `InputError` if the file to write is one that is read: `--overwrite` does not mean that one."""
    if output is None or not output.is_file():  # a terminal can be both read and written
        return
    for source in sources:
        if source is not None and same_source(str(output), source):
            raise InputError(f"{output} is what is read, and is not replaced: choose another --output")


# Data files that were read a moment ago: a grid names the same ones for every run, and a process reads them once.

LIMIT = 50_000_000  # characters of texts that are kept: some hundreds of megabytes at most
Read = TypeVar("Read")
_kept: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()  # what was read, with its number of characters


def read_once(source: str, how: Hashable, read: Callable[[], Read], texts_of: Callable[[Read], Texts]) -> Read:
    """What `read` gives, or gave when it was called for the same file; not to be changed by who gets it.

    A file is the same as long as its path, size, times and number in the file system are. Data sets on the hub are
    read every time: their files have no place of their own.

    Args:
        source: the file, or the name of a data set on the hub.
        how: all that the result depends on besides the file.
        read: reads the file.
        texts_of: the texts in a result, by whose characters the room is counted. The files that were not wanted for
            the longest time are forgotten first. A file of more than `LIMIT` characters is not kept.
    """
    before = stamp(source)
    if before is None:
        return read()
    key = (before, how)
    if key in _kept:
        _kept.move_to_end(key)
        return _kept[key][0]  # type: ignore[return-value]  # `how` says what was read
    found = read()
    texts = texts_of(found)
    size = sum(map(len, texts.texts)) + sum(map(len, texts.second or []))
    if size <= LIMIT and stamp(source) == before:  # it did not change while it was read
        _kept[key] = found, size
        while sum(each for _, each in _kept.values()) > LIMIT:
            _kept.popitem(last=False)
    return found


def stamp(source: str) -> tuple | None:
    """What tells a file from another one and from its own later states; None if there is no such file."""
    try:
        path = os.path.realpath(source)
        if not os.path.isfile(path):
            return None
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return path, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


# From the rows of a file to texts and labels; rows without one are reported.


def collect(
    rows: Iterable[dict], columns: Columns, source: str, bad_rows: str = "error"
) -> tuple[Texts, list[Label] | None, list[str]]:
    """The texts of all rows, with the numbers of their rows and their groups, and their labels.

    Args:
        rows: the rows by the names of the columns.
        columns: the columns that hold the texts, the label and the group.
        source: the name of the data, for messages.
        bad_rows: "error" refuses rows in which a text or the label is empty or missing, "skip" leaves them out.

    Returns:
        N texts, the names of their N labels (None if `columns` has no label), and warnings of one line each. Where a
        row can have several labels, each of the N is a tuple.

    Raises:
        InputError: a text or label is empty (unless such rows are left out) or of a wrong type; some rows have a list
            of labels and others have not; labels seem to be joined by a separator that is not named; no row is left.
    """
    if bad_rows not in ("error", "skip"):
        raise unknown("choice for --bad-rows", bad_rows, ["error", "skip"])
    readers = readers_of(columns)
    complete: dict[str, list[Any]] = {name: [] for name in readers}
    empty: dict[str, list[int]] = {name: [] for name in readers}
    numbers: list[int] = []

    number = 0
    for number, row in enumerate(rows, 1):
        values = [(name, value_in(row, name, kind, number, source)) for name, kind in readers.items()]
        present = [(name, value) for name, value in values if value is not None]
        if len(present) == len(values):
            numbers.append(number)
            for name, value in values:
                assert value is not None
                complete[name].append(value)
        for name, value in values:
            if value is None:
                empty[name].append(number)

    warnings = report_empty(empty, number, source, bad_rows)
    second, groups = (None if name is None else complete[name] for name in (columns.text_pair, columns.group))
    texts = Texts(complete[columns.text], second, rows=numbers, groups=groups)
    return texts, labels_in(complete, columns, numbers, source), warnings


def readers_of(columns: Columns) -> dict[str, Callable[[object], Any]]:
    """What reads the values of each column, by its name."""
    labels: list[tuple[str | None, Callable[[object], Any]]] = [(name, indicator_of) for name in columns.several]
    labels = labels or [(columns.label, partial(labels_of, separator=columns.separator))]
    roles: list[tuple[str | None, Callable[[object], Any]]] = [
        (columns.text, text_of), (columns.text_pair, text_of), *labels, (columns.group, group_of)
    ]  # fmt: skip
    return {name: kind for name, kind in roles if name is not None}


def labels_in(complete: dict[str, list[Any]], columns: Columns, numbers: list[int], source: str) -> list[Label] | None:
    """The labels of the rows from the values of their columns. Raises as `collect`.

    Args:
        complete: the values by column.
        numbers: of the rows.
    """
    if columns.several:
        indicated = zip(*(complete[name] for name in columns.several), strict=True)
        return [tuple(name for name, value in zip(columns.several, row, strict=True) if value == "1")
                for row in indicated]  # fmt: skip
    if columns.label is None:
        return None
    labels: list[Label] = complete[columns.label]
    if (single := mixed_kinds(labels)) is not None:
        raise InputError(
            f"{source}: row {numbers[single]}, column {quoted(columns.label)}: {quoted(labels[single])} is no list, "
            'and other rows have lists of labels; write it as a list with one label, such as ["joy"]'
        )
    one = [label for label in labels if isinstance(label, str)]
    if one and (both := joined_labels(one)):
        raise InputError(
            f"{source}: column {quoted(columns.label)}: most rows have several labels, joined by {quoted(both[0])}, "
            f"such as {quoted(both[1])}; add --label-separator {quoted(both[0])}"
        )
    return labels


def report_empty(empty: dict[str, list[int]], total: int, source: str, bad_rows: str) -> list[str]:
    """The warning about rows that are left out, if there are any.

    Args:
        empty: the numbers of the rows without a value, by column.
        total: the number of all rows.

    Raises:
        InputError: such rows are refused, or there are no others.
    """
    count = len(set().union(*empty.values()))
    if not count:
        return []
    parts = (f"{len(rows):,} in {quoted(name)} ({rows_listed(rows)})" for name, rows in empty.items() if rows)
    rows = f"{counted(count, 'row')} of {total:,} with an empty or missing value: {'; '.join(parts)}"
    if bad_rows == "error":
        raise InputError(f"{source}: {rows}; fill them in, or leave such rows out with --bad-rows skip")
    if count == total:
        raise InputError(f"{source}: {rows}; no row is left, are these the right columns?")
    return [f"{source}: left out {rows}"]


@dataclass(frozen=True)
class Task:
    """A data set with its parts. The texts have labels.

    Args:
        labels: the names of the C labels, in the order of their numbers.
        training: the texts to train on.
        validation: the texts by which the model is chosen; may be empty.
        test: the texts that measure the model; may be empty.
        columns: the columns of the files; None for texts that come from no file.
        tokenised: whether the words of the texts are separated by spaces already.
        descriptions: texts that describe labels, on which the model is trained too; may be empty. They are no rows:
            none of them is drawn, held out, or counted.
    """

    labels: list[str]
    training: Texts
    validation: Texts = field(default_factory=lambda: Texts([]))
    test: Texts = field(default_factory=lambda: Texts([]))
    columns: Columns | None = None
    tokenised: bool = False
    descriptions: Texts = field(default_factory=lambda: Texts([]))

    @property
    def multi_label(self) -> bool:
        """Whether a text can have several labels, or none; the labels of N texts are then 0 and 1 (N, C)."""
        return self.training.labels is not None and self.training.labels.ndim == 2

    @property
    def to_train_on(self) -> Texts:
        """The training rows, then the descriptions of labels."""
        rows, described = self.training, self.descriptions
        if not len(described):
            return rows
        labels = np.concatenate([rows.known_labels, described.known_labels])
        return Texts([*rows.texts, *described.texts], labels=labels)


def read_part(
    source: str, columns: Columns | None = None, encoding: str = "utf-8", bad_rows: str = "error", **chosen
) -> tuple[Texts, list[Label], Columns, list[str]]:
    """The labelled rows of a file or hub data set. A file that this process has read already is not read again.

    Args:
        source: the file, or the name of the data set on the hub.
        columns: the columns of the training data; None chooses columns.
        encoding: of a text file.
        bad_rows: as in `collect`.
        chosen: `text`, `text_pair`, `label` and `group`, the names of columns that are not to be guessed; and
            `separator`, as of `Columns`.

    Returns:
        N texts, the names of their N labels, the columns they are from, and notes of one line each.

    Raises:
        InputError: a column is not there or cannot be guessed; or as `collect`.
    """
    how = (source, columns, encoding, bad_rows, tuple(sorted(chosen.items())))
    texts, labels, found, notes = read_once(
        source, how, lambda: _read_part(source, columns, encoding, bad_rows, chosen), lambda read: read[0]
    )
    return texts, list(labels), found, list(notes)  # lists of their own, which callers may extend


def _read_part(
    source: str, columns: Columns | None, encoding: str, bad_rows: str, chosen: dict[str, Any]
) -> tuple[Texts, list[Label], Columns, list[str]]:
    notes: list[str] = []
    names = column_names(source, encoding)
    if columns is None:
        columns, notes = choose_columns(names, source=source, **chosen)
    else:
        columns, _ = choose_columns(
            names, columns.text, columns.text_pair, columns.label, source=source, separator=columns.separator
        )
    rows = stream(source, encoding, columns=columns.names)
    texts, labels, warnings = collect(rows, columns, source, bad_rows)
    assert labels is not None  # `choose_columns` has chosen a label
    return texts, labels, columns, notes + warnings


def all_labelled(task: Task) -> Texts:
    """The training rows and the validation rows of a task, in the order of their file if they are of one file."""
    if not len(task.validation):
        return task.training
    rows = Texts.concatenated([task.training, task.validation])
    if rows.rows is None or len(set(rows.rows)) < len(rows):  # row 1 of two files
        return rows
    return rows.take(np.argsort(rows.rows, kind="stable"))


# Descriptions of the labels: texts that say in words what a label means.

NAMES = "names"  # in place of a file: the names of the labels
# Rows of a label, on average, with which descriptions gained something in the study of docs/howto/few-labels.md.
FEW = 10


def label_descriptions(source: str, labels: Sequence[str], several: bool = False) -> Texts:
    """The descriptions of labels, with the numbers of the labels.

    Args:
        source: a yaml file with a text or a list of texts for each label, which may leave labels out; or "names",
            which takes the names of the labels themselves.
        labels: the names of the C labels, in the order of their numbers.
        several: whether a text can have several labels. A description then has its label alone: 0 and 1 (M, C).

    Raises:
        InputError: the file cannot be read, describes a label that there is not, or has a description without words.
    """
    described = {label: [name_in_words(label)] for label in labels} if source == NAMES else read_descriptions(source)
    for label in described:
        if label not in labels:
            raise unknown(f"label in {source}:", label, labels)
    pairs = [(text, labels.index(label)) for label, texts in described.items() for text in texts]
    for text, number in pairs:
        if not re.search(r"\w", text):
            raise InputError(
                f"{source}: a description of {quoted(labels[number])} has no words: write some, or remove it"
            )
    numbers = np.array([number for _, number in pairs], np.int64)
    alone = np.eye(len(labels), dtype=np.int64)
    return Texts([text for text, _ in pairs], labels=alone[numbers] if several else numbers)


def name_in_words(label: str) -> str:
    """The name of a label as a text: "card_arrival" as "card arrival", "getSpareCard" as "get spare card"."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)
    words = re.sub(r"[_\W]+", " ", apart).strip()
    return words.lower() if words else label


def read_descriptions(source: str) -> dict[str, list[str]]:
    """The descriptions of each label in a yaml file. Names of labels and descriptions are read as they are written.

    Raises:
        InputError: the file cannot be read, or does not hold labels with texts.
    """
    path = Path(source).expanduser()
    with readable_text(path, "utf-8") as file:
        text = file.read()
    found = read_yaml_texts(text, source)
    if not isinstance(found, dict) or not found:
        raise InputError(f"{source}: label descriptions are lines of the form label: text")
    descriptions = {label: texts if isinstance(texts, list) else [texts] for label, texts in found.items()}
    wrong = [str(label) for label, texts in descriptions.items() if not all(isinstance(text, str) for text in texts)]
    if wrong:
        raise InputError(
            f"{source}: {counted(len(wrong), 'label')} with something else than a text or a list of texts: "
            f"{listed(wrong, 5)}"
        )
    return descriptions


def worth_describing(task: Task) -> str:
    """A line for a person who has few rows of a label and has described none; else empty."""
    rows = len(task.training) / len(task.labels)
    if rows > FEW or len(task.descriptions) or task.training.second is not None:
        return ""
    return (
        f"{counted(round(rows), 'row')} of a label on average: a sentence that says what each label means can help "
        "(--label-descriptions labels.yaml)"
    )
