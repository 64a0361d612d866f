"""`salience suggest`: a file of texts without labels in, the rows out whose labels are worth most, for a person."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from salience.classify import TextClassifier, choose_device, load
from salience.classify.parts import Windows, check_window
from salience.commands.pool_rows import ReadPool, chosen_rows, read_pool
from salience.data.columns import Columns, choose_as_trained
from salience.data.reading import column_names, column_types
from salience.data.task import check_not_read
from salience.data.values import label_columns
from salience.data.writing import check_output, writing
from salience.errors import InputError, counted, listed, quoted
from salience.report.terminal import tell
from salience.runs.folder import trained_columns
from salience.suggestions import DEFAULT, Suggestion
from salience.suggestions.columns import SuggestedColumns, texts_of_run
from salience.suggestions.suggesting import FreshTexts, check_labels, check_view, ranked, strategy_named

NOT_FINITE = "with probabilities that are NaN"
SHOWN = 10  # predicted labels in the summary


def suggest_file(
    model: str, pool: str, output: Path | None, *, count: int, strategy: str | None, text: str | None,
    text_pair: str | None, encoding: str, max_length: int | None, seed: int, device: str, window: int, precision: str,
    prefix: str, safe_csv: bool, overwrite: bool,
) -> None:  # fmt: skip
    """Writes the suggested rows with all their columns, in the order in which to label them, and says what they are.

    The rows get their rank, the predicted label and its probability, and an empty column for the label, if the pool
    has none of this name. Where a text can have several labels, they get the list of the predicted ones, no
    probability, and the columns of labels that the training data have. Columns of labels in the pool are not read.

    Args:
        model: a run folder, or any other trained classifier.
        pool: a file of texts.
        output: the file to write; None writes csv to standard output.
        count: number of rows to suggest.
        strategy: a name of `salience.STRATEGIES`; None is the default.
        text, text_pair: names of the columns; None takes those of the training, or usual names.
        encoding: of a text file.
        max_length, device, precision: as of `salience.load`.
        seed: of a strategy that draws.
        window: number of rows read at a time. What is kept of the others is their probabilities and vectors.
        prefix: begins the names of the added columns, but not that of the labels.
        safe_csv: see `salience.data.writing.writing`.
        overwrite: whether an existing file may be replaced.

    Raises:
        InputError: the pool, the model or an option is invalid, or no text is left. No file is written then.
    """
    chosen = strategy_named(strategy or DEFAULT, count)
    check_window(window)
    check_output(output, overwrite, safe_csv)
    check_not_read(output, pool)
    suffix = "" if output is None else output.suffix.lower()
    names, trained = column_names(pool, encoding), trained_columns(model)
    columns, notes = choose_as_trained(
        names, trained, {"text": text, "text_pair": text_pair}, need_label=False, source=pool
    )
    choose_device(device)  # an invalid device is reported before the data are read
    classifier = load(model, max_length, device, precision)
    check_labels(strategy or DEFAULT, classifier)
    check_view(classifier, chosen.reads_vectors)
    labels = columns_of_labels(trained, classifier)
    added = SuggestedColumns(prefix, labels, classifier.multi_label, as_columns=suffix != ".jsonl")
    added.check_free(names, pool)
    types = added.typed(column_types(pool, encoding)) if added.as_columns else None
    known, note = texts_of_run(model)
    for line in [*notes, *([] if note is None else [note])]:
        tell(line)

    fresh, windows = FreshTexts(known), Windows(pool, encoding, columns, None, window)
    read = read_pool(windows, classifier, fresh, chosen.reads_vectors)
    sound, reasons = usable(read, fresh)
    if not sound:
        raise InputError(f"{pool}: no text is left to label ({reasons}): name a file of other texts")
    found = ranked(classifier, read.probabilities, read.vectors, read.rows, chosen, count, seed)
    filled = filled_rows(found, windows, read, added, pool)
    with writing(output, overwrite, types, safe_csv, tell) as write:
        write(filled)
    tell(f"{counted(sound, 'text')} to choose from" + (f"; left out: {reasons}" if reasons else ""))
    for line in summary(found, strategy or DEFAULT, output):
        tell(line)
    how = how_to_fill_in(classifier, labels, None if trained is None else trained.separator)
    tell(next_step(labels, [label for label in labels if label in names], pool, how))


def usable(read: ReadPool, fresh: FreshTexts) -> tuple[int, str]:
    """The number of texts to choose from, and how many are left out for which reasons, in words."""
    sound = int(np.isfinite(read.probabilities).all(1).sum())
    left_out = dict(fresh.left_out) | ({NOT_FINITE: len(read.rows) - sound} if sound < len(read.rows) else {})
    return sound, listed(f"{number:,} {reason}" for reason, number in left_out.items())


def filled_rows(
    found: Sequence[Suggestion], windows: Windows, read: ReadPool, added: SuggestedColumns, pool: str
) -> list[dict[str, Any]]:
    """The suggested rows with all their columns and the added ones, in the order in which to label them.

    Raises:
        InputError: the pool has changed since it was read, or a row has a column of the same name as an added one.
    """
    rows = chosen_rows(windows, [each.place for each in found], read.digests)
    for row, each in zip(rows, found, strict=True):  # in a file of objects, every row may have names of its own
        added.check_free(row, f"{pool}: row {each.place}")
    return [added.filled(row, each, rank) for rank, (row, each) in enumerate(zip(rows, found, strict=True), 1)]


def columns_of_labels(trained: Columns | None, classifier: TextClassifier) -> tuple[str, ...]:
    """The names of the columns for a person: that of the labels in the training data, or one of 0 and 1 for each.

    Args:
        trained: the columns on which the classifier was trained, if they are known.
        classifier: its labels are those columns, if there are several.
    """
    label = (None if trained is None else trained.label) or "label"
    several = label_columns(label, [])
    return several if classifier.multi_label and {*several} == {*classifier.labels} else (label,)


def how_to_fill_in(classifier: TextClassifier, columns: Sequence[str], separator: str | None) -> str:
    """How a person writes several labels, so that they are read as those of the training data; else nothing."""
    if not classifier.multi_label:
        return ""
    if len(columns) > 1:
        return " with 0 and 1"
    example = classifier.labels[:2]
    return f", such as {json.dumps(example, ensure_ascii=False) if separator is None else separator.join(example)}"


def next_step(labels: Sequence[str], kept: Sequence[str], pool: str, how: str) -> str:
    """What a person does next, or which columns of labels the pool has already.

    Args:
        labels: the columns for a person.
        kept: those that the pool has.
        pool: the file.
        how: how they are filled in.
    """
    shown = kept or labels
    columns = f"the column{'s' if len(shown) > 1 else ''} {listed(map(quoted, shown), SHOWN)}"
    if not kept:
        return f"next: fill in {columns}{how}, and append the texts with their labels to the training data"
    verbs = "were not read, and are kept as they are" if len(kept) > 1 else "was not read, and is kept as it is"
    return f"{columns} of {pool} {verbs}"


def summary(found: Sequence[Suggestion], strategy: str, output: Path | None) -> list[str]:
    """What was suggested: how many texts, their predicted labels, and how certain these are; a line each.

    Args:
        found: the suggestions, at least one.
        strategy: that has chosen them.
        output: the file that they are in; None for standard output.
    """
    labels = Counter(label for each in found for label in each.labels)
    shown = listed((f"{quoted(label)} {number:,}" for label, number in labels.most_common()), SHOWN)
    lines = [
        f"{counted(len(found), 'text')} suggested by {strategy}" + (f": {output}" if output else ""),
        f"predicted labels: {shown or 'none'}",
    ]
    probabilities = [each.probability for each in found if each.probability is not None]
    if probabilities:
        lines.append(
            f"their probabilities: {min(probabilities):.2f} to {max(probabilities):.2f}, "
            f"mean {np.mean(probabilities):.2f}"
        )
    return lines
