"""`salience predict`: a file of texts in, a file of labels and probabilities out; a window of rows is in memory."""

from __future__ import annotations

from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

from salience.commands.added_columns import Added, written_columns
from salience.data.columns import Columns, choose_as_trained
from salience.data.reading import column_names, stream
from salience.data.values import text_of, value_in, well_formed
from salience.data.writing import check_output, writing
from salience.errors import InputError, counted, unknown
from salience.inference import TextClassifier, choose_device, load
from salience.report.terminal import cut_off, tell
from salience.training.folder import trained_columns


def predict_file(
    model: str, data: str, output: Path | None, *, text: str | None, text_pair: str | None, encoding: str,
    max_length: int | None, window: int, precision: str, device: str, overwrite: bool, prefix: str = "",
    safe_csv: bool = False,
) -> None:  # fmt: skip
    """Writes the rows of `data` with the predicted label, its probability and the probability of each label.

    A row without a text keeps its place and gets empty cells. A note says how many there are.

    Args:
        model: a run folder, or any other trained classifier.
        data: a file of texts.
        output: the file to write; None writes csv to standard output.
        text, text_pair: names of the columns; None takes those of the training, or usual names.
        window: number of rows in memory.
        precision: "fp32", "bf16", or "auto".
        prefix: begins the names of the added columns.
        safe_csv: see `salience.data.writing.writing`.

    Raises:
        InputError: the data, the model or an option is invalid. No output file is written then.
    """
    choose_device(device)  # an invalid device is reported before the data are read
    if precision not in ("auto", "fp32", "bf16"):
        raise unknown("--precision", precision, ["auto", "fp32", "bf16"])
    if window < 1:
        raise InputError(f"--window must be at least 1, not {window}")
    check_output(output, overwrite)
    suffix = "" if output is None else output.suffix.lower()
    if safe_csv and suffix in (".jsonl", ".parquet"):
        raise InputError(f"--safe-csv is about csv files, not {output}: leave it out, or name the output with .csv")
    columns, notes = choose_as_trained(
        column_names(data, encoding), trained_columns(model), {"text": text, "text_pair": text_pair},
        need_label=False, source=data,
    )  # fmt: skip
    classifier = load(model, max_length, device)
    added = Added.of(classifier.labels, well_formed(prefix), as_columns=suffix != ".jsonl")
    written = written_columns(data, encoding, added)
    for note in notes:
        tell(note)

    rows = stream(data, encoding)
    seen = cut = empty = undefined = 0
    with writing(output, overwrite, written, safe_csv, tell) as write:
        while part := list(islice(rows, window)):
            answers, shortened = predict_rows(classifier, part, columns, precision, added, data, seen + 1)
            write([row | added.named(answer) for row, answer in zip(part, answers, strict=True)])
            seen, cut = seen + len(part), cut + shortened
            empty += sum(answer is None for answer in answers)
            undefined += sum(answer is not None and not all(map(isfinite, answer)) for answer in answers)
    if cut:
        tell(cut_off(cut, seen, classifier.max_length))
    if empty:
        tell(f"{empty} of {seen} rows have no text and got no label")
    if undefined:
        tell(f"{undefined} of {seen} rows got no label: the model's probabilities are NaN; its weights may be damaged")
    tell(f"{counted(seen, 'row')} predicted" + (f": {output}" if output else ""))


def predict_rows(
    classifier: TextClassifier,
    rows: list[dict],
    columns: Columns,
    precision: str,
    added: Added,
    source: str,
    first: int,
) -> tuple[list[list[float] | None], int]:
    """The probabilities of the labels of each row (None for a row without a text), and how many texts were cut.

    Args:
        source: the file, for error messages.
        first: the number of the first row in the file.
    """
    names = [name for name in (columns.text, columns.text_pair) if name is not None]
    texts: list[list[str | None]] = []
    for number, row in enumerate(rows, first):
        if not added.as_columns:  # in a file of objects, every row may have names of its own
            added.check_free(row, f"{source}: row {number}")
        texts.append([value_in(row, name, text_of, number, source) for name in names])
    complete = [index for index, parts in enumerate(texts) if None not in parts]
    inputs: Any = [tuple(texts[index]) if len(names) > 1 else texts[index][0] for index in complete]
    encoded = classifier.encode(inputs)
    probabilities = classifier.probabilities(encoded, precision)

    answers: list[list[float] | None] = [None] * len(rows)
    for index, probability in zip(complete, probabilities.tolist(), strict=True):
        answers[index] = probability
    return answers, encoded.cut
