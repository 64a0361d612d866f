"""A classification task: labelled texts to train on, to choose the model by, and to test on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from salience.data.collecting import collect
from salience.data.columns import Columns, choose_columns
from salience.data.kept_files import read_once
from salience.data.multilabel import Label
from salience.data.reading import column_names, stream
from salience.data.texts import Texts


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
