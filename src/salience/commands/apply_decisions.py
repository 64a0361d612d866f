"""`salience audit --apply`: a file of labelled texts and decisions about its rows in, a corrected copy out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from salience.audit.corrected import label_of_row, write_corrected
from salience.audit.decisions import DELETED, read_decisions
from salience.data.columns import Columns, choose_columns
from salience.data.reading import column_names, is_on_hub, stream, suffix_of
from salience.data.task import check_not_read
from salience.data.values import Label, mixed_kinds
from salience.errors import InputError, counted
from salience.files import check_output_file
from salience.report.terminal import say
from salience.settings import as_option

OF_COPIES = ("text", "text_pair", "label", "label_separator", "encoding")  # settings that a corrected copy depends on


def apply_decisions(
    data: str, decisions: str, output: Path | None, overwrite: bool, given: Mapping[str, Any],
    useless: Sequence[str] = (),
) -> None:  # fmt: skip
    """Writes a corrected copy of a file.

    Args:
        data: the file.
        decisions: decisions.csv, filled in.
        output: the copy, in the format of the data.
        overwrite: whether an existing copy may be replaced.
        given: the settings of a recipe that the user has given.
        useless: options that were given and have no effect.

    Raises:
        InputError: a decision does not fit the data, or an option is at fault. Nothing has been written then.
    """
    for option in [*useless, *(as_option(name) for name in given if name not in OF_COPIES)]:
        raise InputError(f"{option} has no effect with --apply: leave out one of them")
    if is_on_hub(data):
        raise InputError(f"{data} is a data set on the hub, and only files can be corrected: save it as a file")
    if output is None:
        raise InputError(
            f"--apply needs the name of the corrected copy: add --output corrected{suffix_of(Path(data))}"
        )
    encoding = given.get("encoding", "utf-8")
    names = column_names(data, encoding)
    separator = given.get("label_separator")
    columns, notes = choose_columns(
        names, given.get("text"), given.get("text_pair"), given.get("label"), source=data, separator=separator
    )
    if suffix_of(Path(data)) != suffix_of(output):
        raise InputError(f"{output} must end in {suffix_of(Path(data))}, as {data} does: a copy keeps the format")
    check_not_read(output, data, str(decisions))
    check_output_file(output, overwrite)
    label = columns.several or columns.label
    assert label is not None  # `choose_columns` has chosen one
    rows = labels_of_rows(data, encoding, columns, {label} if isinstance(label, str) else {*label})
    labels = {row: label for row, label in rows.items() if label is not None}
    if mixed_kinds(list(labels.values())) is not None:
        raise InputError(f"{data}: some rows have lists of labels, and others have not: write them in one way")
    changes = read_decisions(decisions, labels, data)
    deleted = sum(change is DELETED for change in changes.values())
    if deleted == len(rows):
        raise InputError(f"{decisions} deletes every row of {data}: nothing would be left")
    for note in notes:
        say(note)
    write_corrected(Path(data), output, label, encoding, labels, changes, separator)
    say(
        f"{counted(len(changes) - deleted, 'row')} relabelled and {counted(deleted, 'row')} deleted of "
        f"{len(rows):,}: {output}"
    )


def labels_of_rows(data: str, encoding: str, columns: Columns, read: set[str]) -> dict[int, Label | None]:
    """The label of every row of a file, or its labels, by the number of the row; None for a row without a label.

    Args:
        read: the columns that have the labels.
    """
    rows = (label_of_row(row, columns) for row in stream(data, encoding, columns=read))
    return dict(enumerate(rows, 1))
