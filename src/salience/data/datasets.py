"""A data set of single texts whose three parts are in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from salience.data.task import Part, read_task
from salience.errors import quoted


@dataclass(frozen=True)
class Split:
    """Texts and labels (as numbers) of one part of a data set, and where they are known the labels of its words."""

    texts: list[str]
    labels: list[int]
    word_labels: list[list[str]] | None = None


@dataclass(frozen=True)
class DataSet:
    name: str
    labels: tuple[str, ...]
    training: Split
    validation: Split
    test: Split
    tokenised: bool


def from_files(data: str, test: str | None, note: Callable[[str], None] = print, **reading) -> DataSet:
    """A set from files as `salience train` reads them, of single texts; `reading` is `read_task`'s.

    Without a test file it has no test texts: those that choose the best epoch are no test.
    """
    task = read_task(data, test, note=note, **reading)
    if task.columns.text_pair is not None:
        note(f"{data}: only the column {quoted(task.columns.text)} is read, not the second texts beside it")

    def split(part: Part | None) -> Split:
        return Split([], []) if part is None else Split(list(part.examples.texts), part.labels.tolist())

    return DataSet(data, tuple(task.names), split(task.train), split(task.validation), split(task.test), False)
