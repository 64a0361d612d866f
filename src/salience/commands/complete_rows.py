"""The rows of a file that have a text and, where words are marked, a mark for each; what is told of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from salience.commands.label_numbers import several_numbers, single_number
from salience.data.columns import Columns
from salience.data.encoding import word_spans
from salience.data.reading import stream
from salience.data.values import text_of, value_in
from salience.errors import InputError, counted, listed, nearest, quoted, rows_listed
from salience.report.terminal import tell


@dataclass
class CompleteRows:
    """The rows of a file that are read, in turn; after the last one, notes say how many others there are.

    Args:
        data: path of the file.
        columns: of the texts and the label.
        labels: of the model; empty if none are read.
        encoding: of a text file.
        most: number of rows to read; None reads all.
        marks: a column with one mark for each word; None if there is none.
        option: the option that names `marks`, for error messages.
        needed: whether a file without any known label is refused.
        multi_label: whether a text can have several labels.
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
        number_of = several_numbers if self.multi_label else single_number
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
            marked = [] if self.marks is None else marks_in(row, self.marks)
            if self.marks is not None and (misfit := misfit_of(marked, text)):
                self.misfits[number] = misfit
                continue
            self.read += 1
            known, strange = number_of(row, self.columns, self.labels, number, self.data)
            if strange is not None:
                self.unseen[number] = strange
            yield text, pair or "", number, known, marked
        if self.empty:
            what = "a text" if self.columns.text_pair is None else "both texts"
            tell(f"{self.data}: left out {counted(len(self.empty), 'row')} without {what} ({rows_listed(self.empty)})")
        if self.misfits:
            self.tell_misfits()
        if self.unseen:
            self.tell_unseen()

    def tell_misfits(self) -> None:
        """Tells of the rows with another number of marks than words. Raises an `InputError` if there are no others."""
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
        first, label = next(iter(self.unseen.items()))
        problem = (
            f"{self.data}: {counted(len(self.unseen), 'row')} with a label that the model does not know, the first "
            f"being row {first}: {quoted(label)}; it knows {listed(map(quoted, self.labels))}."
            f"{nearest(label, self.labels)}"
        )
        if self.needed and len(self.unseen) == self.read:
            raise InputError(f"{problem} --label names another column.")
        tell(problem)


def marks_in(row: Mapping, column: str) -> list[str]:
    """The marks of a row, one for each word: a list, or a text with white space between them."""
    value = row.get(column)
    return [str(mark) for mark in value] if isinstance(value, list) else ("" if value is None else str(value)).split()


def misfit_of(marks: list[str], text: str) -> str | None:
    """Why the marks do not fit the text; None if there is one for each word."""
    words = len(word_spans(text))
    if len(marks) == words:
        return None
    return f"{counted(len(marks), 'mark')}, but the text has {counted(words, 'word')} between white space"
