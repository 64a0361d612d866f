"""Texts without labels for semi-supervised training: none of them is also a labelled row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from salience.data.collecting import collect
from salience.data.columns import Columns, choose_as_trained
from salience.data.kept_files import read_once
from salience.data.reading import column_names, stream
from salience.data.splitting import stripped
from salience.data.texts import Texts
from salience.errors import InputError, counted, listed


def read_unlabelled(
    source: str, columns: Columns, labelled: Mapping[str, Texts], encoding: str = "utf-8", bad_rows: str = "error"
) -> tuple[Texts, list[str]]:
    """The texts of a file without labels. A column of labels is not read.

    Texts that also stand in a labelled part, and repetitions of a text, are left out; space around texts is ignored.

    Args:
        source: the file, or the name of a data set on the hub.
        columns: those of the training data. Columns of the same names are read, else columns of usual names.
        labelled: the labelled texts of each part, by its name for messages, such as {"training": ...}.
        encoding: of a text file.
        bad_rows: "error" refuses rows without a text, "skip" leaves them out.

    Returns:
        N texts without labels, and notes of one line each.

    Raises:
        InputError: a column is not there, a text is missing, texts stand where pairs are needed or the reverse, or no
            text is left.
    """
    texts, notes = read_once(
        source, ("unlabelled", columns, encoding, bad_rows), lambda: _read(source, columns, encoding, bad_rows),
        lambda read: read[0],
    )  # fmt: skip
    owner = {row: part for part, other in labelled.items() for row in stripped(other)}
    kept, left_out, seen = [], dict.fromkeys([*labelled, "repeated"], 0), set()
    for index, row in enumerate(stripped(texts)):
        part = owner.get(row, "repeated" if row in seen else None)
        seen.add(row)
        if part is None:
            kept.append(index)
        else:
            left_out[part] += 1
    reasons = [
        f"{count:,} repeated" if part == "repeated" else f"{count:,} {part} {'row' if count == 1 else 'rows'}"
        for part, count in left_out.items()
        if count
    ]
    if not kept:
        raise InputError(
            f"{source}: no text without a label is left ({listed(reasons)}): give --unlabelled a file of other texts"
        )
    notes = [*notes, f"unlabelled: {counted(len(kept), 'text')} of {source}"]
    if reasons:
        notes[-1] += f"; left out {listed(reasons)}"
    return texts.take(kept), notes


def _read(source: str, columns: Columns, encoding: str, bad_rows: str) -> tuple[Texts, list[str]]:
    trained = replace(columns, label=None, group=None)
    chosen, notes = choose_as_trained(column_names(source, encoding), trained, {}, need_label=False, source=source)
    texts, _, warnings = collect(stream(source, encoding, columns=chosen.names), chosen, source, bad_rows)
    # The columns of the training data need no note.
    return texts, [f"{source}: {note}" for note in notes if "(guessed)" in note] + warnings
