"""What the commands about a trained model begin with: the model, and texts with labels that it knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from salience.data.columns import LABELS, Columns, choose_as_trained, usual
from salience.data.reading import column_names, stream
from salience.data.values import label_of, text_of, value_in
from salience.errors import InputError, counted, listed, nearest, quoted, rows_listed, unknown
from salience.explain.explanations import Text
from salience.explain.word_tokens import PIECES
from salience.explain.words import word_spans
from salience.models.loading import load_trained, longest_text
from salience.report.predictions import choose_device, tell
from salience.study.faithfulness import Reader


@contextmanager
def cannot(doing: str) -> Iterator[None]:
    """Inside the `with`, what the library refuses becomes a line that begins "cannot explain runs/reviews", or so."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"cannot {doing}: {error}") from error


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
    data: str, labels: Sequence[str], trained: Columns | None, most: int | None, columns: Mapping[str, Any],
    marks: str | None = None,
) -> list[Text]:  # fmt: skip
    """The rows of a file whose label the model knows.

    Raises:
        InputError: there is none.
    """
    every = list(read_texts(data, labels, trained, most, columns, marks, needed=True))
    if not every:
        raise InputError(f"{data} has no texts")
    texts = [own for own in every if own.label is not None]
    if not texts:
        raise InputError(
            f"{data}: no row has a label that the model knows ({listed(labels)}); check its --label column"
        )
    if len(texts) < len(every):
        tell(f"{data}: {len(every) - len(texts)} of {len(every)} texts are left out, whose label is not known")
    return texts


def read_texts(
    data: str, labels: Sequence[str] | None, trained: Columns | None, most: int | None, columns: Mapping[str, Any],
    marks: str | None = None, option: str = "--marks", needed: bool = False,
) -> Iterator[Text]:  # fmt: skip
    """The rows of a file; rows without a text are left out, and a label that the model does not know is none, which
    is said at the end.

    Args:
        labels: those of the model; None where no label is looked for.
        trained: the columns that the model was trained on, where they are known.
        needed: some label must be known.

    Raises:
        InputError: the file is at fault.
    """
    if most is not None and most < 1:
        raise InputError(f"the number of texts to read must be at least 1, not {most}")
    encoding = columns["encoding"]
    named = {role: columns.get(role) for role in ("text", "text_pair", "label")}
    names = column_names(data, encoding)
    if marks is not None and marks not in names:
        raise InputError(f"{data}: no column {quoted(marks)} for {option}; the columns are {listed(names)}")
    # A label is welcome, but need not be there: only usual names are taken for one.
    free = [name for name in names if name != marks]
    labelled = labels is not None and (
        named["label"] is not None
        or (trained is not None and trained.label in free)
        or (len(free) > 1 and usual(free, LABELS) is not None)
    )
    chosen, notes = choose_as_trained(
        free, trained, named, need_label=labelled, source=data, text_option=columns.get("text_option", "--text")
    )
    for note in notes:
        tell(note)
    given, empty, strange = 0, [], {}
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
        known = labels.index(label) if label is not None and label in labels else None
        if label is not None and known is None:
            strange[number] = label
        pair = None if chosen.text_pair is None else pair or ""
        yield Text(text, pair, known, number, None if marks is None else marks_in(row, marks, text, number, data))
    if empty:
        tell(f"{data}: left out {counted(len(empty), 'row')} without a text ({rows_listed(empty)})")
    if strange:
        first, label = next(iter(strange.items()))
        told = (
            f"{data}: {counted(len(strange), 'row')} with a label that the model does not know, the first being row "
            f"{first}: {quoted(label)}; it knows {listed(map(quoted, labels))}.{nearest(label, labels)}"
        )
        if needed and len(strange) == given:
            raise InputError(f"{told} --label names another column.")
        tell(told)


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
