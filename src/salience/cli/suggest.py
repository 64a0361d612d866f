"""`salience suggest`: a file of texts without labels in, the rows out whose labels are worth most, for a person."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from salience.cli import options
from salience.cli.options import catalogue
from salience.errors import InputError, counted, listed, quoted

if TYPE_CHECKING:
    import numpy as np

    from salience.classify import TextClassifier
    from salience.classify.parts import Windows
    from salience.data.columns import Columns
    from salience.suggestions import Suggestion
    from salience.suggestions.suggesting import FreshTexts

NOT_FINITE = "with probabilities that are NaN"
SHOWN = 10  # predicted labels in the summary


def strategies() -> list[tuple[str, str]]:
    """The names of the strategies and their papers, the default first."""
    from salience.suggestions import DEFAULT, STRATEGIES

    return [(name, strategy.reference + "  [default]" * (name == DEFAULT)) for name, strategy in STRATEGIES.items()]


def suggest(
    model: options.Model,
    pool: Annotated[str, Argument(help="Texts without labels, as for `salience predict`.")],
    text: options.Text = None,
    text_pair: options.TextPair = None,
    encoding: options.Encoding = "utf-8",
    max_length: options.MaxLength = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    count: Annotated[int, Option(help="Texts to suggest.")] = 50,
    strategy: Annotated[
        str | None, Option(help="How texts are chosen.  [default: the best on average]")
    ] = None,
    list_strategies: Annotated[bool, catalogue("--list-strategies", "strategies", strategies)] = False,
    output: Annotated[Path | None, Option(help=".csv, .jsonl or .parquet.  [default: csv to the terminal]")] = None,
    window: options.Window = 8192,
    precision: options.Precision = "auto",
    prefix: options.Prefix = "",
    safe_csv: options.SafeCsv = False,
    overwrite: options.Overwrite = False,
) -> None:  # fmt: skip
    """Choose the texts whose labels would help a trained classifier most, for a person to label."""
    # The rows get their rank, the predicted label and its probability, and an empty column for the label, if the pool
    # has none of this name. Where a text can have several labels, they get the list of the predicted ones, no
    # probability, and the columns of labels that the training data have. Columns of labels in the pool are not read.
    from salience.classify import choose_device, load
    from salience.classify.parts import Windows, check_window
    from salience.data.columns import choose_as_trained
    from salience.data.reading import column_names, column_types
    from salience.data.task import check_not_read
    from salience.data.writing import check_output, writing
    from salience.report.terminal import tell
    from salience.runs.folder import trained_columns
    from salience.suggestions import DEFAULT
    from salience.suggestions.columns import SuggestedColumns, texts_of_run
    from salience.suggestions.suggesting import FreshTexts, check_labels, check_view, ranked, strategy_named

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
    rows = chosen_rows(windows, [each.place for each in found], read.digests)
    for row, each in zip(rows, found, strict=True):  # in a file of objects, every row may have names of its own
        added.check_free(row, f"{pool}: row {each.place}")
    with writing(output, overwrite, types, safe_csv, tell) as write:
        write([added.filled(row, each, rank) for rank, (row, each) in enumerate(zip(rows, found, strict=True), 1)])
    tell(f"{counted(sound, 'text')} to choose from" + (f"; left out: {reasons}" if reasons else ""))
    for line in summary(found, strategy or DEFAULT, output):
        tell(line)
    how = how_to_fill_in(classifier, labels, None if trained is None else trained.separator)
    tell(next_step(labels, [label for label in labels if label in names], pool, how))


@dataclass(frozen=True)
class ReadPool:
    """The texts of a pool that may be suggested, as a classifier sees them.

    Args:
        digests: what stands for each text, by the number of its row, from 1, in the order of the rows.
        probabilities: (N, C).
        vectors: (N, D); None if they are not wanted.
    """

    digests: dict[int, bytes]
    probabilities: np.ndarray
    vectors: np.ndarray | None

    @property
    def rows(self) -> np.ndarray:
        """The numbers of the rows (N,)."""
        import numpy as np

        return np.fromiter(self.digests, np.int64, len(self.digests))


def read_pool(windows: Windows, classifier: TextClassifier, fresh: FreshTexts, with_vectors: bool) -> ReadPool:
    """Reads a pool, some rows at a time, and predicts the texts that are fresh.

    Raises:
        InputError: a row is invalid, a value is no text, or the classifier gives no vectors.
    """
    import numpy as np

    from salience.suggestions.suggesting import digest_of_text, view_of

    digests: dict[int, bytes] = {}
    views: list[tuple[np.ndarray, np.ndarray | None]] = []
    first = 1
    for texts in windows.texts():
        kept = [place for place, row in enumerate(texts) if fresh.is_fresh(row)]
        if kept:
            own: list[Any] = [texts[place] if len(texts[place]) > 1 else texts[place][0] for place in kept]
            views.append(view_of(classifier, own, with_vectors))
        digests |= {first + place: digest_of_text(texts[place]) for place in kept}
        first += len(texts)
    probabilities = [view[0] for view in views] or [np.zeros((0, len(classifier.labels)), np.float32)]
    vectors = [view[1] for view in views if view[1] is not None]
    return ReadPool(digests, np.concatenate(probabilities), np.concatenate(vectors) if vectors else None)


def chosen_rows(windows: Windows, numbers: Sequence[int], digests: dict[int, bytes]) -> list[dict]:
    """The rows of these numbers, with all columns, in the order of the numbers. The file is read once more.

    Args:
        numbers: of rows, from 1.
        digests: what stands for the text of each of them.

    Raises:
        InputError: a row is not there any more, or its text is another one.
    """
    from salience.classify.predictor import texts_in
    from salience.data.reading import stream
    from salience.suggestions.suggesting import digest_of_text

    wanted = set(numbers)
    found: dict[int, dict] = {}
    for number, row in enumerate(stream(windows.source, windows.encoding), 1):
        if number not in wanted:
            continue
        (text,) = texts_in([row], windows.columns, windows.source, number)
        if digest_of_text(text) == digests[number]:
            found[number] = row
        if len(found) == len(wanted):
            break
    if len(found) < len(wanted):
        raise InputError(f"{windows.source} has changed while it was read: run again")
    return [found[number] for number in numbers]


def usable(read: ReadPool, fresh: FreshTexts) -> tuple[int, str]:
    """The number of texts to choose from, and how many are left out for which reasons, in words."""
    import numpy as np

    sound = int(np.isfinite(read.probabilities).all(1).sum())
    left_out = dict(fresh.left_out) | ({NOT_FINITE: len(read.rows) - sound} if sound < len(read.rows) else {})
    return sound, listed(f"{number:,} {reason}" for reason, number in left_out.items())


def columns_of_labels(trained: Columns | None, classifier: TextClassifier) -> tuple[str, ...]:
    """The names of the columns for a person: that of the labels in the training data, or one of 0 and 1 for each."""
    from salience.data.values import label_columns

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
        how: how they are filled in.
    """
    shown = kept or labels
    columns = f"the column{'s' if len(shown) > 1 else ''} {listed(map(quoted, shown), SHOWN)}"
    if not kept:
        return f"next: fill in {columns}{how}, and append the texts with their labels to the training data"
    verbs = "were not read, and are kept as they are" if len(kept) > 1 else "was not read, and is kept as it is"
    return f"{columns} of {pool} {verbs}"


def summary(found: Sequence[Suggestion], strategy: str, output: Path | None) -> list[str]:
    """What was suggested: how many texts, their predicted labels, and how certain these are; a line each."""
    import numpy as np

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
