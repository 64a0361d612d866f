"""`salience suggest`: a file of texts without labels in, the rows out whose labels are worth most, for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from salience.commands.pool_rows import chosen_rows, read_pool
from salience.data.columns import choose_as_trained
from salience.data.reading import column_names, column_types
from salience.data.writing import check_output, writing
from salience.errors import InputError, counted, listed, quoted
from salience.inference import choose_device, load
from salience.prediction.windows import Windows, check_window
from salience.report.terminal import tell
from salience.suggestions import DEFAULT, Suggestion
from salience.suggestions.added_columns import Added
from salience.suggestions.fresh import FreshTexts
from salience.suggestions.labelled import labelled_texts
from salience.suggestions.suggesting import ranked, strategy_named
from salience.suggestions.view import check_view
from salience.training.recipe_file import trained_columns

NOT_FINITE = "with probabilities that are NaN"
SHOWN = 10  # predicted labels in the summary


def suggest_file(
    model: str, pool: str, output: Path | None, *, count: int, strategy: str | None, text: str | None,
    text_pair: str | None, encoding: str, max_length: int | None, seed: int, device: str, window: int, precision: str,
    prefix: str, safe_csv: bool, overwrite: bool,
) -> None:  # fmt: skip
    """Writes the suggested rows with all their columns, in the order in which to label them, and says what they are.

    The rows get their rank, the predicted label and its probability, and an empty column for the label, if the pool
    has none of this name. A column of labels in the pool is not read.

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
    suffix = "" if output is None else output.suffix.lower()
    names, trained = column_names(pool, encoding), trained_columns(model)
    columns, notes = choose_as_trained(
        names, trained, {"text": text, "text_pair": text_pair}, need_label=False, source=pool
    )
    label = (None if trained is None else trained.label) or "label"
    added = Added(prefix, label)
    added.check_free(names, pool)
    types = None if suffix == ".jsonl" else added.typed(column_types(pool, encoding))
    choose_device(device)  # an invalid device is reported before the data are read
    classifier = load(model, max_length, device, precision)
    check_view(classifier, chosen.reads_vectors)
    known, note = labelled_texts(model)
    for line in [*notes, *([] if note is None else [note])]:
        tell(line)

    fresh, windows = FreshTexts(known), Windows(pool, encoding, columns, None, window)
    read = read_pool(windows, classifier, fresh, chosen.reads_vectors)
    sound = int(np.isfinite(read.probabilities).all(1).sum())
    left_out = dict(fresh.left_out) | ({NOT_FINITE: len(read.rows) - sound} if sound < len(read.rows) else {})
    reasons = listed(f"{number:,} {reason}" for reason, number in left_out.items())
    if not sound:
        raise InputError(f"{pool}: no text is left to label ({reasons}): name a file of other texts")
    found = ranked(classifier.labels, read.probabilities, read.vectors, read.rows, chosen, count, seed)
    rows = chosen_rows(windows, [each.place for each in found], read.digests)
    for row, each in zip(rows, found, strict=True):  # in a file of objects, every row may have names of its own
        added.check_free(row, f"{pool}: row {each.place}")
    filled = [added.filled(row, each, rank) for rank, (row, each) in enumerate(zip(rows, found, strict=True), 1)]
    with writing(output, overwrite, types, safe_csv, tell) as write:
        write(filled)
    tell(f"{counted(sound, 'text')} to choose from" + (f"; left out: {reasons}" if left_out else ""))
    for line in summary(found, strategy or DEFAULT, output):
        tell(line)
    if label in names:
        tell(f"the column {quoted(label)} of {pool} was not read, and is kept as it is")
    else:
        tell(f"next: fill in the column {quoted(label)}, and add these rows to the training data")


def summary(found: Sequence[Suggestion], strategy: str, output: Path | None) -> list[str]:
    """What was suggested: how many texts, their predicted labels, and how certain these are; a line each.

    Args:
        found: the suggestions, at least one.
        strategy: that has chosen them.
        output: the file that they are in; None for standard output.
    """
    labels = Counter(each.label for each in found).most_common()
    probabilities = [each.probability for each in found]
    return [
        f"{counted(len(found), 'text')} suggested by {strategy}" + (f": {output}" if output else ""),
        f"predicted labels: {listed((f'{quoted(label)} {number:,}' for label, number in labels), SHOWN)}",
        f"their probabilities: {min(probabilities):.2f} to {max(probabilities):.2f}, "
        f"mean {np.mean(probabilities):.2f}",
    ]
