"""`salience predict`: a file of texts in, a file of labels and probabilities out; a window of rows is in memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from salience.cli import options
from salience.errors import InputError, counted, quoted


def predict(
    model: options.Model,
    data: Annotated[str, Argument(help="Texts: csv, tsv, jsonl, parquet, xlsx, or of the hub.")],
    text: options.Text = None,
    text_pair: options.TextPair = None,
    encoding: options.Encoding = "utf-8",
    max_length: options.MaxLength = None,
    device: options.Device = "auto",
    output: Annotated[Path | None, Option(help="Output file: .csv, .tsv, .jsonl, .parquet or .xlsx.")] = None,
    window: options.Window = 8192,
    precision: options.Precision = "auto",
    prefix: options.Prefix = "",
    safe_csv: options.SafeCsv = False,
    no_abstain: Annotated[bool, Option("--no-abstain", help="Decide every text, whatever the thresholds.")] = False,
    threshold: Annotated[
        str | None, Option(metavar="NUMBER", help="Abstain below it; spam=0.25: predict spam from 0.25.")
    ] = None,
    sets: Annotated[
        float | None, Option(metavar="LEVEL", help="Add label sets: 0.9 hold the right label in 90 %.")
    ] = None,
    part: options.Part = None,
    ray: options.Ray = None,
    overwrite: options.Overwrite = False,
    resume: Annotated[bool, Option("--resume", help="Continue an interrupted prediction.")] = False,
) -> None:
    """Predict a label for each row."""
    from contextlib import ExitStack, closing

    from salience.data.columns import choose_as_trained
    from salience.data.reading import column_names, form_for
    from salience.processes import WHOLE, file_of, importing, part_of
    from salience.runs.folder import trained_columns

    columns, notes = choose_as_trained(
        column_names(data, encoding), trained_columns(model), {"text": text, "text_pair": text_pair},
        need_label=False, source=data,
    )  # fmt: skip
    with importing():  # for many seconds, and a wrong name is told before
        from salience.classify import choose_device
        from salience.classify.familiarity import UNFAMILIAR
        from salience.classify.kept_answers import answered, kept_answers, kept_precision
        from salience.classify.parts import Windows, check_window, rows_of_part
        from salience.classify.predictor import Predictor, written_columns
        from salience.data.task import check_not_read
        from salience.data.writing import check_output, is_stream, writing
        from salience.models.precision import default_precision
        from salience.report.terminal import cut_off, tell

    predictor = Predictor(
        model, text, text_pair, precision, max_length, device, prefix, not no_abstain, threshold, sets
    )
    if ray is None:
        choose_device(device)  # an invalid device is reported before the data are read
    check_window(window)
    turn = part_of(part, tell)
    file = None if output is None or is_stream(output) else file_of(turn, output)
    output = file or output
    if resume and file is None:
        raise InputError("--resume needs an output that is a file: name it, as in --output predicted.csv")
    # The machine that sends the work to a cluster may have no GPU.
    here = predictor if ray is None else replace(predictor, device="cpu")
    added = here.added(as_columns=output is None or output.suffix.lower() != ".jsonl")
    check_output(output, overwrite, safe_csv)
    check_not_read(output, data)
    written = written_columns(data, encoding, added)
    windows = Windows(data, encoding, columns, rows_of_part(turn, data, encoding, columns), window)
    seen: Counter[str] = Counter()
    with ExitStack() as stack:
        write = stack.enter_context(
            writing(output, overwrite, written, safe_csv, tell, form_for(output, data, encoding))
        )
        kept = None
        if file is not None:
            stack.enter_context(default_precision(kept_precision(file) if resume else "auto"))
            given = {
                "--text": columns.text, "--text-pair": columns.text_pair, "--encoding": encoding, "--window": window,
                "--prefix": prefix, "--safe-csv": safe_csv, "--no-abstain": no_abstain, "--threshold": threshold,
                "--sets": sets, "--part": "/".join(map(str, turn)), "--ray": ray is not None,
            }  # fmt: skip
            kept = stack.enter_context(kept_answers(file, windows, here, given, resume, overwrite, tell))
        for note in notes:
            tell(note)
        for first, rows, answers in stack.enter_context(closing(answered(predictor, windows, ray, kept))):
            if not added.as_columns:  # in a file of objects, every row may have names of its own
                for number, row in enumerate(rows, first):
                    added.check_free(row, f"{data}: row {number}")
            found = answers.lists()
            named = [added.named(*answer) for answer in found]
            write([row | values for row, values in zip(rows, named, strict=True)])
            complete = [probabilities for probabilities, _ in found if probabilities is not None]
            undefined, empty = sum(not all(map(isfinite, each)) for each in complete), len(found) - len(complete)
            unfamiliar = int((answers.familiarity <= UNFAMILIAR).sum())
            seen.update(
                rows=len(rows), cut=int(answers.cut.sum()), empty=empty, undefined=undefined, unfamiliar=unfamiliar
            )
            if added.abstains:
                label = added.names[0]
                seen["undecided"] += sum(values[label] is None for values in named) - empty - undefined
        if not seen["rows"]:
            write([])  # the header

    total = seen["rows"]
    if seen["cut"]:
        tell(cut_off(seen["cut"], total, here.classifier.max_length))
    if seen["empty"]:
        tell(f"{seen['empty']} of {total} rows have no text and got no label")
    if seen["undefined"]:
        tell(
            f"{seen['undefined']} of {total} rows got no label: the model's probabilities are NaN, its weights damaged"
        )
    if seen["undecided"]:
        limit = "the threshold of its label" if threshold is None else f"{predictor.asked_threshold[1]:g}"
        tell(
            f"{seen['undecided']} of {total} rows are undecided, their probability is not above {limit}; their most "
            f"probable label is in {quoted(added.names[1])}"
        )
    if seen["unfamiliar"]:
        tell(
            f"{seen['unfamiliar']} of {total} rows are unlike the training rows (familiarity {UNFAMILIAR:g} or less); "
            "look at them first"
        )
    share = "" if turn == WHOLE else f", part {turn[0]} of {turn[1]}"
    tell(f"{counted(total, 'row')} predicted{share}" + (f": {output}" if output else ""))
