"""`salience suggest`: a file of texts without labels in, the rows out whose labels are worth most, for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from salience.cli import options
from salience.cli.describe import FILE
from salience.cli.options import catalogue
from salience.errors import InputError, counted, listed, quoted

SKEWED = 3  # times as many texts of a label as an even choice has, of which a line warns


def strategies() -> list[tuple[str, str]]:
    """The names of the strategies and their papers, the default first."""
    from salience.suggestions import DEFAULT, STRATEGIES

    return [(name, strategy.reference + "  [default]" * (name == DEFAULT)) for name, strategy in STRATEGIES.items()]


def suggest(
    model: Annotated[str, Argument(help="Run, other trained classifier, or encoder such as minilm.")],
    pool: Annotated[str, Argument(help="Unlabelled texts, as for `salience predict`.")],
    text: options.Text = None,
    text_pair: options.TextPair = None,
    encoding: options.Encoding = "utf-8",
    max_length: options.MaxLength = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    count: Annotated[int, Option(help="Texts to suggest.")] = 50,
    strategy: Annotated[
        str | None, Option(help="How texts are chosen.  [default: by what the model knows]")
    ] = None,
    list_strategies: Annotated[bool, catalogue("--list-strategies", "strategies", strategies)] = False,
    output: Annotated[Path | None, Option(help=".csv, .tsv, .jsonl, .parquet, .xlsx.  [default: csv]")] = None,
    window: options.Window = 8192,
    precision: options.Precision = "auto",
    prefix: options.Prefix = "",
    safe_csv: options.SafeCsv = False,
    overwrite: options.Overwrite = False,
) -> None:  # fmt: skip
    """Choose the unlabelled texts that a person should label next."""
    # The rows get their rank, the predicted label and its probability, and an empty column for the label, if the pool
    # has none of this name. Where texts are multi-label, they get the list of the predicted ones, no
    # probability, and the columns of labels that the training data have. Columns of labels in the pool are not read.
    from functools import partial

    import numpy as np

    from salience.classify import TextClassifier, choose_device
    from salience.classify.parts import Windows, check_window, rows_of_part
    from salience.data.columns import choose_as_trained
    from salience.data.reading import column_names, column_types, form_for
    from salience.data.task import check_not_read
    from salience.data.values import joined, label_columns
    from salience.data.writing import check_output, writing
    from salience.processes import WHOLE
    from salience.report.terminal import tell
    from salience.runs.folder import trained_columns
    from salience.suggestions import DEFAULT, DESCRIBED
    from salience.suggestions.files import SuggestedColumns, chosen_rows, read_pool, texts_of_run
    from salience.suggestions.suggesting import (
        FreshTexts,
        check_fits,
        labelled_vectors,
        load_reader,
        ranked,
        strategy_named,
        view_of,
    )

    described = (Path(model).expanduser() / FILE).is_file()
    strategy = strategy or (DESCRIBED if described else DEFAULT)
    chosen = strategy_named(strategy, count)
    check_window(window)
    names, trained = column_names(pool, encoding), trained_columns(model)
    columns, notes = choose_as_trained(
        names, trained, {"text": text, "text_pair": text_pair}, need_label=False, source=pool
    )
    choose_device(device)  # an invalid device is reported before the data are read
    reader = load_reader(model, max_length, device, precision)
    classifier = reader if isinstance(reader, TextClassifier) else None
    check_fits(chosen, reader)
    several = classifier is not None and classifier.multi_label
    # The columns for a person: that of the labels in the training data, or one of 0 and 1 for each label.
    label = (trained.label if trained else None) or "label"
    of_labels = label_columns(label, [])
    known_labels = [] if classifier is None else classifier.labels
    labels = of_labels if several and {*of_labels} == {*known_labels} else (label,)
    as_columns = output is None or output.suffix.lower() != ".jsonl"
    added = SuggestedColumns(prefix, labels, several, as_columns, trained, predicted=classifier is not None)
    added.check_free(names, pool)
    check_output(output, overwrite, safe_csv)
    check_not_read(output, pool)
    types = added.typed(column_types(pool, encoding)) if as_columns else None
    trained_on, measured, note = texts_of_run(model)
    for line in filter(None, [*notes, None if classifier is None or described else note]):
        tell(line)

    fresh = FreshTexts(trained_on | measured)
    windows = Windows(pool, encoding, columns, rows_of_part(WHOLE, pool, encoding, columns), window)
    view = partial(view_of, reader, with_vectors=chosen.reads_vectors)
    numbers, probabilities, vectors = read_pool(windows, view, len(known_labels), fresh)
    sound = int(np.isfinite(probabilities).all(1).sum())
    fresh.left_out["with probabilities that are NaN"] = len(numbers) - sound
    reasons = listed(f"{number:,} {reason}" for reason, number in fresh.left_out.items() if number)
    if not sound:
        raise InputError(f"{pool}: no text is left to label ({reasons}): name a file of other texts")
    labelled = labelled_vectors(reader, trained_on) if chosen.reads_vectors else None
    found = ranked(reader, probabilities, vectors, labelled, numbers, chosen, count, seed)
    rows = chosen_rows(windows, [each.place for each in found], fresh)
    for row, each in zip(rows, found, strict=True):  # in a file of objects, every row may have names of its own
        added.check_free(row, f"{pool}: row {each.place}")
    form = form_for(output, pool, encoding)
    with writing(output, overwrite, types, safe_csv, tell, form) as write:
        write([added.filled(row, each, rank) for rank, (row, each) in enumerate(zip(rows, found, strict=True), 1)])

    tell(f"{counted(sound, 'text')} to choose from" + (f"; left out: {reasons}" if reasons else ""))
    tell(f"{counted(len(found), 'text')} suggested by {strategy}" + (f": {output}" if output else ""))
    if classifier is not None:
        predicted = Counter(label for each in found for label in each.labels)
        tell(f"predicted labels: {listed(f'{quoted(name)} {n:,}' for name, n in predicted.most_common()) or 'none'}")
        if skewed := skew(predicted, known_labels, len(found)):
            tell(skewed)
        if not several:
            certain = [each.probability or 0 for each in found]
            shown = f"{min(certain):.2f} to {max(certain):.2f}, mean {np.mean(certain):.2f}"
            tell(f"their probabilities: {shown}")
    if kept := [label for label in labels if label in names]:
        tell(f"{pool}: the column {listed(map(quoted, kept))} is ignored and kept as it is")
        return
    how = ""
    if len(labels) > 1:
        how = " with 0 and 1"
    elif several and classifier is not None:
        example, separator = classifier.labels[:2], trained.separator if trained else None
        how = f", such as {joined(example, separator)}"
    shown = listed(map(quoted, labels))
    tell(f"next: fill in {shown}{how}, and add these rows to the training data")


def skew(predicted: Mapping[str, int], labels: Sequence[str], count: int) -> str:
    """A line that warns of a choice with few of some labels; else empty."""
    most = max(predicted.values(), default=0)
    reasons = []
    if most > SKEWED * count / len(labels):
        reasons.append(f"{most:,} of {counted(count, 'text')} have the same predicted label")
    if without := [label for label in labels if label not in predicted]:
        reasons.append(f"none has {listed(map(quoted, without), 5)}")
    if count < 2 * len(labels) or not reasons:
        return ""
    return f"skewed: {'; '.join(reasons)}; label some randomly chosen texts too"
