"""`salience predict`: a file of texts in, a file of labels and probabilities out; a window of rows is in memory."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path

from salience.classify import choose_device
from salience.classify.parts import Windows, answers_by_ray, check_window, rows_of_part
from salience.classify.predictor import AddedColumns, Answers, Predictor, written_columns
from salience.data.columns import choose_as_trained
from salience.data.reading import column_names
from salience.data.task import check_not_read
from salience.data.writing import check_output, is_stream, writing
from salience.errors import counted, quoted
from salience.processes import WHOLE, file_of, part_of
from salience.report.terminal import cut_off, tell
from salience.runs.folder import trained_columns


def predict_file(
    model: str, data: str, output: Path | None, *, text: str | None, text_pair: str | None, encoding: str,
    max_length: int | None, window: int, precision: str, device: str, overwrite: bool, prefix: str = "",
    safe_csv: bool = False, part: str | None = "1/1", ray: str | None = None,
    abstain: bool = True, threshold: float | None = None, sets: float | None = None,
) -> None:  # fmt: skip
    """Writes the rows of `data` with the predicted label, its probability and the probability of each label.

    A row without a text keeps its place and gets empty cells. A note says how many there are.

    Args:
        model: a run folder, or any other trained classifier.
        data: a file of texts.
        output: the file to write; None writes csv to standard output. A part of several is written to a file of its
            own beside it, see `salience.processes.file_of`.
        text, text_pair: names of the columns; None takes those of the training, or usual names.
        window: number of rows in memory.
        precision: as of `salience.load`.
        prefix: begins the names of the added columns.
        safe_csv: see `salience.data.writing.writing`.
        part: "K/N" predicts the K-th of N equal parts of the rows; None that of a Slurm array's task, else all.
        ray: address of a Ray cluster that predicts; None for this process.
        abstain, threshold, sets: as of `Predictor`.

    Raises:
        InputError: the data, the model or an option is invalid. No output file is written then.
    """
    predictor = Predictor(model, text, text_pair, precision, max_length, device, prefix, abstain, threshold, sets)
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
    answered = answers_here(predictor, windows) if ray is None else answers_by_ray(predictor, windows, ray)
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
        if added.limits is not None:
            label, guess = added.names[:2]
            self.undecided += sum(values[label] is None and values[guess] is not None for values in named)

    def told(self, predictor: Predictor, added: AddedColumns) -> list[str]:
        """A line for each kind of rows that a reader must know of."""
        lines = [cut_off(self.cut, self.seen, predictor.classifier.max_length)] if self.cut else []
        if self.empty:
            lines.append(f"{self.empty} of {self.seen} rows have no text and got no label")
        if self.undefined:
            lines.append(
                f"{self.undefined} of {self.seen} rows got no label: the model's probabilities are NaN; its weights "
                "may be damaged"
            )
        if self.undecided:
            lines.append(
                f"{self.undecided} of {self.seen} rows are undecided: their probability is not above "
                f"{limit_of(predictor)}; {quoted(added.names[1])} has their most probable label"
            )
        return lines


def limit_of(predictor: Predictor) -> str:
    """The limit of a predictor that abstains, in words."""
    if predictor.threshold is not None:
        return f"{predictor.threshold:g}"
    target = None if predictor.thresholds is None else predictor.thresholds.target_precision
    return "the threshold of its label" + ("" if target is None else f" for a precision of {target:g}")


def answers_here(predictor: Predictor, windows: Windows) -> Generator[tuple[int, list[dict], Answers], None, None]:
    """Predicts the windows of a file, one after the other.

    Yields:
        The number of the first row of a window, its rows, and what the classifier says about them.
    """
    for first, rows in windows:
        yield first, rows, predictor.answers(windows.texts_of(first, rows))
