"""From files to a task: what to train on, what to choose by, what to test on, and what the reader should know."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from salience.data.columns import Columns, choose_columns
from salience.data.examples import Examples, collect
from salience.data.labels import check_labels, encode, label_names
from salience.data.reading import column_names, stream
from salience.data.splitting import shared_rows, split


@dataclass(frozen=True)
class Part:
    """Some of the data, with labels as numbers."""

    examples: Examples
    labels: np.ndarray  # (N,) int

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Task:
    names: list[str]  # the labels' names, in order of their numbers
    columns: Columns | None  # of the files; None where the texts come from memory
    train: Part
    validation: Part | None
    test: Part | None


def read_part(
    source: str, columns: Columns | None = None, encoding: str = "utf-8", bad_rows: str = "error", **chosen
) -> tuple[Examples, Columns, list[str]]:
    """The labelled rows of a file or hub data set, the columns they came from, and what the reader should know."""
    notes: list[str] = []
    names = column_names(source, encoding)
    if columns is None:
        columns, notes = choose_columns(names, source=source, **chosen)
    else:  # the columns of the training data
        columns, _ = choose_columns(names, columns.text, columns.text_pair, columns.label, source=source)
    needed = {columns.text, columns.text_pair, columns.label} - {None}
    examples, warnings = collect(stream(source, encoding, columns=needed), columns, source, bad_rows)
    return examples, columns, notes + warnings


def read_task(
    data: str,
    test: str | None = None,
    validation: str | None = None,
    validation_share: float | None = None,
    seed: int = 0,
    encoding: str = "utf-8",
    bad_rows: str = "error",
    note: Callable[[str], None] = print,
    **chosen,
) -> Task:
    """Reads and checks everything before anything is trained.

    Args:
        validation_share: the part of the training data that is held out, stratified and seeded, where no validation
            file is given; 0 trains on everything; None follows `default_share`.
        note: told each guess and each warning.
        chosen: `text`, `text_pair` and `label`, the columns' names where they are not to be guessed.

    Raises:
        InputError: the first thing that is wrong, with file, row and mend.
    """
    examples, columns, notes = read_part(data, None, encoding, bad_rows, **chosen)
    notes += check_labels(examples, data)
    names = label_names(examples.labels)

    def other(source: str, role: str) -> Part:
        found, _, warnings = read_part(source, columns, encoding, bad_rows)
        notes.extend(warnings)
        numbers = encode(found.labels, names, source, found.rows)
        if same_source(source, data):
            notes.append(f"{source}: the {role} file is the training file itself; scores are flattered")
        elif shared := shared_rows(examples, found):
            notes.append(f"{source}: {shared} of {len(found)} {role} rows also stand in {data}; scores are flattered")
        return Part(found, np.array(numbers))

    held_out = other(validation, "validation") if validation else None
    tested = other(test, "test") if test else None
    if validation and test:
        flattered = "by which the model is chosen; the test score is flattered"
        if same_source(validation, test):
            notes.append(f"{test}: the test file is also the validation file, {flattered}")
        elif shared := shared_rows(held_out.examples, tested.examples):
            notes.append(f"{test}: {shared} of {len(tested)} test rows also stand in {validation}, {flattered}")
    numbers = np.array(encode(examples.labels, names, data, examples.rows))
    share = default_share(len(examples)) if validation_share is None else validation_share
    if held_out is None and share > 0:
        kept, held = split(examples.labels, share, seed, data)
        held_out = Part(examples.take(held), numbers[held])
        examples, numbers = examples.take(kept), numbers[kept]
        notes.append(f"validation: {len(held_out)} of the {len(kept) + len(held)} rows held out (stratified)")
    for line in notes:
        note(line)
    return Task(names, columns, Part(examples, numbers), held_out, tested)


def same_source(one: str, other: str) -> bool:
    """Whether two names are of one file, or of one data set on the hub."""
    try:
        return os.path.samefile(one, other)
    except OSError:  # one is not a file
        return one == other


def default_share(rows: int) -> float:
    """Held out for validation: a fifth of a small data set, a tenth of a larger one, 5,000 rows at the most."""
    return 0.2 if rows < 1000 else min(0.1, 5000 / rows)
