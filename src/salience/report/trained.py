"""What the commands about a trained model begin with: the model, and texts with labels that it knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from salience.data.columns import LABELS, choose_columns, usual
from salience.data.reading import column_names, stream
from salience.data.values import label_of, text_of, value_in
from salience.errors import InputError, counted, listed, quoted, rows_listed, unknown
from salience.explain.explanations import Text
from salience.explain.word_tokens import PIECES
from salience.explain.words import word_spans
from salience.models.loading import load_trained, longest_text
from salience.report.predictions import choose_device, tell
from salience.study.faithfulness import Reader


def load_reader(name: str, max_length: int | None, device: str, pieces: str = "sum") -> Reader:
    """A trained classifier on its device, ready to read.

    Raises:
        InputError: there is no such model, device or way to take pieces together.
    """
    if pieces not in PIECES:
        raise unknown("--pieces", pieces, PIECES)
    chosen = choose_device(device)
    model, tokenizer = load_trained(name)
    return Reader(model.to(chosen).eval(), tokenizer, longest_text(model, tokenizer, max_length), pieces)


def labelled_texts(
    data: str, labels: Sequence[str], most: int | None, columns: Mapping[str, Any], marks: str | None = None
) -> list[Text]:
    """The rows of a file whose label the model knows.

    Raises:
        InputError: there is none.
    """
    every = list(read_texts(data, labels, most, columns, marks))
    if not every:
        raise InputError(f"{data} has no texts")
    texts = [own for own in every if own.label is not None]
    if not texts:
        raise InputError(
            f"{data}: no row has a label that the model knows ({listed(labels)}); name its --label column"
        )
    if len(texts) < len(every):
        unknown = len(every) - len(texts)
        tell(f"{data}: {unknown} of {len(every)} texts are left out, whose label the model does not know")
    return texts


def read_texts(
    data: str, labels: Sequence[str], most: int | None, columns: Mapping[str, Any], marks: str | None = None,
    option: str = "--marks",
) -> Iterator[Text]:  # fmt: skip
    """The rows of a file; rows without a text are left out, which is said at the end, and a label that the model does
    not know is none."""
    if most is not None and most < 1:
        raise InputError(f"the number of texts to read must be at least 1, not {most}")
    encoding = columns["encoding"]
    named = {name: value for name, value in columns.items() if name != "encoding"}
    names = column_names(data, encoding)
    if marks is not None and marks not in names:
        raise InputError(f"{data}: no column {quoted(marks)} for {option}; the columns are {listed(names)}")
    # A label is welcome, but need not be there: only usual names are taken for one.
    labelled = named.get("label") is not None or (len(names) > 1 and usual(names, LABELS) is not None)
    chosen, notes = choose_columns(names, **named, need_label=labelled, source=data)
    for note in notes:
        tell(note)
    given, empty = 0, []
    for number, row in enumerate(stream(data, encoding), 1):
        text, pair = (
            None if name is None else value_in(row, name, text_of, number, data)
            for name in (chosen.text, chosen.text_pair)
        )
        if text is None:
            empty.append(number)
            continue
        if given == most:
            tell(f"{data}: only its first {most} texts are read")
            break
        given += 1
        label = None if chosen.label is None else value_in(row, chosen.label, label_of, number, data)
        known = labels.index(label) if label in labels else None
        pair = None if chosen.text_pair is None else pair or ""
        yield Text(text, pair, known, number, None if marks is None else marks_in(row, marks, text, number, data))
    if empty:
        tell(f"{data}: left out {counted(len(empty), 'row')} without a text ({rows_listed(empty)})")


def marks_in(row: Mapping, column: str, text: str, number: int, source: str) -> list[str]:
    """What a column says of each word: a list, or parted by white space.

    Raises:
        InputError: the row has more of one than of the other.
    """
    value = row.get(column)
    marks = [str(mark) for mark in value] if isinstance(value, list) else ("" if value is None else str(value)).split()
    words = len(word_spans(text))
    if len(marks) != words:
        raise InputError(
            f"{source}: row {number}, column {quoted(column)}: {counted(len(marks), 'mark')}, but the text has "
            f"{counted(words, 'word')} between white space"
        )
    return marks
