"""The texts of a file for the commands about a trained model: complete rows, with labels that the model knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from salience.data.columns import LABELS, Columns, choose_as_trained, usual
from salience.data.encoding import word_spans
from salience.data.reading import column_names, stream
from salience.data.texts import UNKNOWN, Texts
from salience.data.values import indicator_of, label_columns, label_of, labels_of, text_of, value_in
from salience.errors import InputError, counted, listed, nearest, quoted, rows_listed
from salience.explainers.explain import TEXTS
from salience.report.terminal import tell


@contextmanager
def cannot(doing: str) -> Iterator[None]:
    """A context in which a `ValueError` becomes an `InputError` that begins with "cannot" and `doing`."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"cannot {doing}: {error}") from error


def labelled_texts(
    data: str, labels: Sequence[str], trained: Columns | None, most: int | None, columns: Mapping[str, Any],
    marks: str | None = None, multi_label: bool = False,
) -> Texts:  # fmt: skip
    """The texts of a file whose label the model knows. A note says how many others there are.

    Args:
        data, labels, trained, most, columns, marks, multi_label: as in `read_texts`.

    Raises:
        InputError: no row has such a label.
    """
    every = Texts.concatenated(
        read_texts(data, labels, trained, most, columns, marks, needed=True, multi_label=multi_label)
    )
    if not len(every):
        raise InputError(f"{data} has no texts")
    known = np.flatnonzero(every.labelled)
    if not len(known):
        raise InputError(
            f"{data}: no row has a label that the model knows ({listed(labels)}); check its --label column"
        )
    if len(known) < len(every):
        tell(f"{data}: {len(every) - len(known)} of {len(every)} texts are left out, whose label is not known")
    return every.take(known)


def read_texts(
    data: str, labels: Sequence[str] | None, trained: Columns | None, most: int | None, columns: Mapping[str, Any],
    marks: str | None = None, option: str = "--marks", needed: bool = False, multi_label: bool = False,
) -> Iterator[Texts]:  # fmt: skip
    """The texts of a file with the numbers of their rows, in parts of `TEXTS` texts.

    Rows without a text and rows with another number of marks than words are left out; notes at the end say how many.
    A label that the model does not know becomes `UNKNOWN`.

    Args:
        data: path of the file.
        labels: the labels of the model; None reads no labels.
        trained: the columns that the model was trained on; None if they are not known.
        most: number of rows to read; None reads all.
        columns: "encoding", and the names that the user gave for "text", "text_pair" and "label"; "text_option" is
            the option that names the first, for error messages.
        marks: a column with one mark for each word.
        option: the option that names `marks`, for error messages.
        needed: whether a file without any known label is refused.
        multi_label: whether a text can have several labels. They are then 0 and 1 (N, C), or all `UNKNOWN`.

    Raises:
        InputError: the file is invalid, no row has as many marks as words, or no label is known and one is needed.
    """
    if most is not None and most < 1:
        raise InputError(f"the number of texts to read must be at least 1, not {most}")
    encoding = columns["encoding"]
    named = {role: columns.get(role) for role in ("text", "text_pair", "label")}
    names = column_names(data, encoding)
    if marks is not None and marks not in names:
        raise InputError(f"{data}: no column {quoted(marks)} for {option}; the columns are {listed(names)}")
    # Labels are optional here: a column is taken for the label only if its name is a usual one.
    free = [name for name in names if name != marks]
    labelled = labels is not None and (
        named["label"] is not None
        or (trained is not None and trained.label is not None and set(label_columns(trained.label, free)) <= set(free))
        or (len(free) > 1 and usual(free, LABELS) is not None)
    )
    chosen, notes = choose_as_trained(
        free, trained, named, need_label=labelled, source=data, text_option=columns.get("text_option", "--text")
    )
    for note in notes:
        tell(note)
    rows = iter(CompleteRows(data, chosen, labels or [], encoding, most, marks, option, needed, multi_label))
    while window := list(islice(rows, TEXTS)):
        texts, pairs, numbers, known, marked = (list(values) for values in zip(*window, strict=True))
        yield Texts(
            texts,
            None if chosen.text_pair is None else pairs,
            None if chosen.label is None else np.array(known),
            numbers,
            None if marks is None else marked,
        )


@dataclass
class CompleteRows:
    """The rows of a file that are read, in turn; after the last one, notes say how many others there are.

    Args:
        data, labels, encoding, most, marks, option, needed, multi_label: as of `read_texts`.
        columns: of the texts and the label.
        read: number of rows that have been read.
        empty: the numbers of rows without a text.
        misfits: of rows with another number of marks than words, number to what does not fit.
        unseen: of rows whose label the model does not know, number to label.
    """

    data: str
    columns: Columns
    labels: Sequence[str] = ()
    encoding: str = "utf-8"
    most: int | None = None
    marks: str | None = None
    option: str = "--marks"
    needed: bool = False
    multi_label: bool = False
    read: int = 0
    empty: list[int] = field(default_factory=list)
    misfits: dict[int, str] = field(default_factory=dict)
    unseen: dict[int, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[str, str, int, int | list[int], list[str]]]:
        """The text, second text, row number, label and marks of each row.

        Raises:
            InputError: the file is invalid, no row has as many marks as words, or no label is known and one is needed.
        """
        names = self.columns.names | ({self.marks} if self.marks is not None else set())
        for number, row in enumerate(stream(self.data, self.encoding, columns=names), 1):
            text, pair = (
                None if name is None else value_in(row, name, text_of, number, self.data)
                for name in (self.columns.text, self.columns.text_pair)
            )
            if text is None or (pair is None and self.columns.text_pair is not None):
                self.empty.append(number)
                continue
            if self.read == self.most:
                tell(f"{self.data}: only its first {self.most} texts are read")
                break
            marked = [] if self.marks is None else marks_in(row.get(self.marks))
            words = len(word_spans(text))
            if self.marks is not None and len(marked) != words:
                found = f"{counted(len(marked), 'mark')}, but the text has {counted(words, 'word')}"
                self.misfits[number] = f"{found} between white space"
                continue
            self.read += 1
            known, strange = (self.several_numbers if self.multi_label else self.single_number)(row, number)
            if strange is not None:
                self.unseen[number] = strange
            yield text, pair or "", number, known, marked
        if self.empty:
            what = "a text" if self.columns.text_pair is None else "both texts"
            tell(f"{self.data}: left out {counted(len(self.empty), 'row')} without {what} ({rows_listed(self.empty)})")
        self.tell_misfits()
        self.tell_unseen()

    def single_number(self, row: Mapping, number: int) -> tuple[int, str | None]:
        """The number of a row's label, `UNKNOWN` if it is missing or strange, and the label if it is strange."""
        name = self.columns.label
        label = None if name is None else value_in(row, name, label_of, number, self.data)
        if label is None or label not in self.labels:
            return UNKNOWN, label
        return self.labels.index(label), None

    def several_numbers(self, row: Mapping, number: int) -> tuple[list[int], str | None]:
        """The same where a text can have several labels: 0 and 1 for each of the model's, or all `UNKNOWN`."""
        unknown_labels = [UNKNOWN] * len(self.labels)
        if self.columns.label is None:
            return unknown_labels, None
        if self.columns.several:
            found = {name: value_in(row, name, indicator_of, number, self.data) for name in self.columns.several}
            names = None if None in found.values() else [name for name, value in found.items() if value == "1"]
        else:
            separated = partial(labels_of, separator=self.columns.separator)
            read = value_in(row, self.columns.label, separated, number, self.data)
            names = None if read is None else [read] if isinstance(read, str) else list(read)
        if names is None:
            return unknown_labels, None
        if strange := [name for name in names if name not in self.labels]:
            return unknown_labels, strange[0]
        return [int(label in names) for label in self.labels], None

    def tell_misfits(self) -> None:
        """Tells of the rows with another number of marks than words. Raises an `InputError` if there are no others."""
        if not self.misfits:
            return
        number, misfit = next(iter(self.misfits.items()))
        if not self.read:
            raise InputError(
                f"{self.data}: row {number}, column {quoted(self.marks)}: {misfit}; no row has as many marks as "
                f"words. {self.option} names another column"
            )
        tell(
            f"{self.data}: left out {counted(len(self.misfits), 'row')} whose marks do not fit "
            f"({rows_listed(self.misfits)}); row {number}: {misfit}"
        )

    def tell_unseen(self) -> None:
        """Tells of the rows with an unknown label. Raises an `InputError` if no label is known and one is needed."""
        if not self.unseen:
            return
        first, label = next(iter(self.unseen.items()))
        problem = (
            f"{self.data}: {counted(len(self.unseen), 'row')} with a label that the model does not know, the first "
            f"being row {first}: {quoted(label)}; it knows {listed(map(quoted, self.labels))}."
            f"{nearest(label, self.labels)}"
        )
        if self.needed and len(self.unseen) == self.read:
            raise InputError(f"{problem} --label names another column.")
        tell(problem)


def marks_in(value: Any) -> list[str]:
    """The marks of a row, one for each word: a list, or a text with white space between them."""
    return list(map(str, value)) if isinstance(value, list) else ("" if value is None else str(value)).split()
