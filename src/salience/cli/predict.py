"""`salience predict`: a file of texts in, a file of labels and probabilities out; a window of rows is in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from salience.cli import options
from salience.errors import counted, quoted

if TYPE_CHECKING:
    from salience.classify.predictor import AddedColumns, Predictor


def predict(
    model: options.Model,
    data: Annotated[str, Argument(help="Texts: csv, tsv, jsonl, parquet, or of the hub.")],
    text: options.Text = None,
    text_pair: options.TextPair = None,
    encoding: options.Encoding = "utf-8",
    max_length: options.MaxLength = None,
    device: options.Device = "auto",
    output: Annotated[Path | None, Option(help=".csv, .jsonl or .parquet; of a part, a file beside.")] = None,
    window: options.Window = 8192,
    precision: options.Precision = "auto",
    prefix: options.Prefix = "",
    safe_csv: options.SafeCsv = False,
    no_abstain: Annotated[bool, Option("--no-abstain", help="Decide every text, whatever the thresholds.")] = False,
    threshold: Annotated[
        float | None, Option(help="Abstain below, or of several labels predict above it.")
    ] = None,
    sets: Annotated[
        float | None,
        Option(metavar="LEVEL", help="Add sets that hold the right label so often: 0.9."),
    ] = None,
    part: options.Part = None,
    ray: options.Ray = None,
    overwrite: options.Overwrite = False,
) -> None:  # fmt: skip
    """Predict a label for each row, in the order of the rows and in bounded memory."""
    from contextlib import closing

    from salience.classify import choose_device
    from salience.classify.parts import Windows, answers_by_ray, check_window, rows_of_part
    from salience.classify.predictor import Predictor, written_columns
    from salience.data.columns import choose_as_trained
    from salience.data.reading import column_names
    from salience.data.task import check_not_read
    from salience.data.writing import check_output, is_stream, writing
    from salience.processes import WHOLE, file_of, part_of
    from salience.report.terminal import tell
    from salience.runs.folder import trained_columns

    predictor = Predictor(
        model, text, text_pair, precision, max_length, device, prefix, not no_abstain, threshold, sets
    )
    if ray is None:
        choose_device(device)  # an invalid device is reported before the data are read
    check_window(window)
    turn = part_of(part, tell)
    if output is not None and not is_stream(output):
        output = file_of(turn, output)
    check_output(output, overwrite, safe_csv)
    check_not_read(output, data)
    suffix = "" if output is None else output.suffix.lower()
    columns, notes = choose_as_trained(
        column_names(data, encoding), trained_columns(model), {"text": text, "text_pair": text_pair},
        need_label=False, source=data,
    )  # fmt: skip
    # The machine that sends the work to a cluster may have no GPU.
    here = predictor if ray is None else replace(predictor, device="cpu")
    added = here.added(as_columns=suffix != ".jsonl")
    written = written_columns(data, encoding, added)
    for note in notes:
        tell(note)

    windows = Windows(data, encoding, columns, rows_of_part(turn, data, encoding, columns), window)
    if ray is None:
        answered = ((first, rows, predictor.answers(windows.texts_of(first, rows))) for first, rows in windows)
    else:
        answered = answers_by_ray(predictor, windows, ray)
    tally = Tally()
    with writing(output, overwrite, written, safe_csv, tell) as write, closing(answered):
        for first, rows, answers in answered:
            if not added.as_columns:  # in a file of objects, every row may have names of its own
                for number, row in enumerate(rows, first):
                    added.check_free(row, f"{data}: row {number}")
            found = answers.lists()
            named = [added.named(answer) for answer in found]
            write([row | values for row, values in zip(rows, named, strict=True)])
            tally.count(found, named, int(answers.cut.sum()), added)
        if not tally.seen:
            write([])  # the header
    for line in tally.told(here, added):
        tell(line)
    share = "" if turn == WHOLE else f", part {turn[0]} of {turn[1]}"
    tell(f"{counted(tally.seen, 'row')} predicted{share}" + (f": {output}" if output else ""))


@dataclass
class Tally:
    """How many rows were seen, and of how many there is something to tell."""

    seen: int = 0
    cut: int = 0
    empty: int = 0
    undefined: int = 0
    undecided: int = 0

    def count(self, found: list, named: list[dict], cut: int, added: AddedColumns) -> None:
        """Counts the rows of a window.

        Args:
            found: the probabilities of each row, None for one without a text.
            named: the values that each row gets.
            cut: number of texts that are cut.
            added: the columns of these values.
        """
        self.seen, self.cut, self.empty = self.seen + len(found), self.cut + cut, self.empty + found.count(None)
        self.undefined += sum(answer is not None and not all(map(isfinite, answer)) for answer in found)
        if added.abstains:
            label, guess = added.names[:2]
            self.undecided += sum(values[label] is None and values[guess] is not None for values in named)

    def told(self, predictor: Predictor, added: AddedColumns) -> list[str]:
        """A line for each kind of rows that a reader must know of."""
        from salience.report.terminal import cut_off

        lines = [cut_off(self.cut, self.seen, predictor.classifier.max_length)] if self.cut else []
        if self.empty:
            lines.append(f"{self.empty} of {self.seen} rows have no text and got no label")
        if self.undefined:
            lines.append(
                f"{self.undefined} of {self.seen} rows got no label: the model's probabilities are NaN; its weights "
                "may be damaged"
            )
        if self.undecided:
            limit = f"{predictor.threshold:g}" if predictor.threshold is not None else "the threshold of its label"
            if predictor.threshold is None and predictor.thresholds is not None:
                target = predictor.thresholds.target_precision
                limit += "" if target is None else f" for a precision of {target:g}"
            lines.append(
                f"{self.undecided} of {self.seen} rows are undecided: their probability is not above {limit}; "
                f"{quoted(added.names[1])} has their most probable label"
            )
        return lines
