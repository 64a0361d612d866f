"""Reads the texts for the commands about a trained model, with labels that the model knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from salience.commands.complete_rows import CompleteRows
from salience.data.columns import LABELS, Columns, choose_as_trained, usual
from salience.data.reading import column_names
from salience.data.texts import Texts
from salience.data.values import label_columns
from salience.errors import InputError, listed, quoted
from salience.explainers.explain import TEXTS
from salience.report.terminal import tell


@contextmanager
def cannot(doing: str) -> Iterator[None]:
    """A context in which a `ValueError` becomes an `InputError` that begins with "cannot" and `doing`.

    Args:
        doing: for example "explain runs/reviews".
    """
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
