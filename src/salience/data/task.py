"""A classification task: labelled texts to train on, to choose the model by, and to test on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from salience.data.collecting import collect
from salience.data.columns import Columns, choose_columns
from salience.data.descriptions import label_descriptions
from salience.data.drawing import draw
from salience.data.kept_files import read_once
from salience.data.labels import check_labels, encode, names_of
from salience.data.multilabel import Label, check_same_kind
from salience.data.reading import column_names, stream
from salience.data.sources import same_source
from salience.data.splitting import default_share, shared_rows, split
from salience.data.texts import Texts
from salience.data.unlabelled import read_unlabelled
from salience.errors import InputError, counted, listed, quoted


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
        unlabelled: texts without labels, on which the model is trained too; may be empty.
        descriptions: texts that describe labels, on which the model is trained too; may be empty. They are no rows:
            none of them is drawn, held out, or counted.
    """

    labels: list[str]
    training: Texts
    validation: Texts = field(default_factory=lambda: Texts([]))
    test: Texts = field(default_factory=lambda: Texts([]))
    columns: Columns | None = None
    tokenised: bool = False
    unlabelled: Texts = field(default_factory=lambda: Texts([]))
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


def read_task(
    data: str,
    test: str | None = None,
    validation: str | None = None,
    validation_share: float | None = None,
    seed: int = 0,
    encoding: str = "utf-8",
    bad_rows: str = "error",
    note: Callable[[str], None] = print,
    size: int | None = None,
    unlabelled: str | None = None,
    descriptions: str | None = None,
    **chosen,
) -> Task:
    """Reads and checks all files of a task, before anything is trained.

    Args:
        data: the training data, a file or the name of a data set on the hub.
        test, validation: the test and validation data; None if there are none.
        validation_share: without `validation`, the share of the training data that is held out, stratified by class;
            0 trains on all rows; None follows `default_share`.
        seed: of the rows that are drawn and held out.
        encoding: of text files.
        bad_rows: as in `collect`.
        note: is called with each guess and each warning.
        size: the number of rows of `data` that are drawn, as `draw` draws them; None takes all.
        unlabelled: texts without labels; None if there are none. Those that are also labelled rows are left out.
        descriptions: descriptions of labels, as of `label_descriptions`; None if there are none.
        chosen: `text`, `text_pair`, `label` and `group`, the names of columns that are not to be guessed, and
            `separator`, as of `Columns`. Groups are those of `data`; other files need none.

    Raises:
        InputError: the data are at fault; names file and row.
    """
    texts, labels, columns, notes = read_part(data, None, encoding, bad_rows, **chosen)
    notes += check_labels(labels, data, chosen.get("label") is not None)
    names = names_of(labels, columns.several)
    if size is not None:
        drawn = draw(labels, size, seed, data)
        notes.append(f"size: {len(drawn):,} of the {len(texts):,} rows drawn (stratified)")
        texts, labels = texts.take(drawn), [labels[row] for row in drawn]

    def read_other(source: str, role: str) -> Texts:
        other, other_labels, _, warnings = read_part(source, columns, encoding, bad_rows)
        notes.extend(warnings)
        check_same_kind(labels, data, other_labels, source)
        other = replace(other, labels=encode(other_labels, names, source, other.rows or []))
        if same_source(source, data):
            notes.append(f"{source}: the {role} file is the training file itself; scores are flattered")
        elif shared := shared_rows(texts, other):
            notes.append(f"{source}: {shared} of {len(other)} {role} rows also stand in {data}; scores are flattered")
        return other

    held_out = read_other(validation, "validation") if validation else Texts([])
    tested = read_other(test, "test") if test else Texts([])
    if validation and test:
        flattered = "by which the model is chosen; the test score is flattered"
        if same_source(validation, test):
            notes.append(f"{test}: the test file is also the validation file, {flattered}")
        elif shared := shared_rows(held_out, tested):
            notes.append(f"{test}: {shared} of {len(tested)} test rows also stand in {validation}, {flattered}")
    training = replace(texts, labels=encode(labels, names, data, texts.rows or []))
    share = default_share(len(training)) if validation_share is None else validation_share
    if not validation and share > 0:
        kept_rows, held_rows = split(labels, share, seed, data)
        held_out, training = training.take(held_rows), training.take(kept_rows)
        notes.append(f"validation: {len(held_out)} of the {len(texts)} rows held out (stratified)")
    numbers = training.known_labels
    if numbers.ndim == 2 and (never := [quoted(names[label]) for label in np.flatnonzero(numbers.sum(0) == 0)]):
        notes.append(f"{data}: no training row has the label {listed(never, 5)}")
    parts = {"training": training, "validation": held_out, "test": tested}
    others = Texts([])
    if unlabelled is not None:
        others, found = read_unlabelled(unlabelled, columns, parts, encoding, bad_rows)
        notes += found
    described = Texts([])
    if descriptions is not None:
        if columns.text_pair is not None:
            raise InputError("--label-descriptions are single texts, but the rows are pairs: leave them out")
        described = label_descriptions(descriptions, names)
        notes.append(f"label descriptions: {counted(len(described), 'text')} to train on beside the rows")
    for line in notes:
        note(line)
    return Task(names, training, held_out, tested, columns, unlabelled=others, descriptions=described)


def all_labelled(task: Task) -> Texts:
    """The training rows and the validation rows of a task, in the order of their file if they are of one file."""
    if not len(task.validation):
        return task.training
    rows = Texts.concatenated([task.training, task.validation])
    if rows.rows is None or len(set(rows.rows)) < len(rows):  # row 1 of two files
        return rows
    return rows.take(np.argsort(rows.rows, kind="stable"))
