"""`salience explain`: texts and explainers in; explanations in a terminal, as JSON lines, or as a page out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console

from salience.classify import load
from salience.commands.explain_options import chosen_explainers, target_of
from salience.commands.labelled_texts import cannot, read_texts
from salience.data.labels import visible
from salience.data.task import check_not_read
from salience.data.texts import Texts
from salience.data.values import well_formed
from salience.data.writing import writing
from salience.errors import InputError, counted, json_printable, unknown
from salience.explainers.explain import check_pieces, explain_texts
from salience.explainers.explanation import Explanation, as_json
from salience.files import check_output_file, whole_file
from salience.report.explanation_page import explanation_page
from salience.report.terminal import cut_off, explanation_line, tell
from salience.runs.folder import trained_columns

FORMATS = ("terminal", "jsonl", "html")


def explain_file(
    name: str, data: str | None, texts: list[str], output: Path | None, *, explainers: list[str], target: str,
    layer: int | None, head: int | None, pieces: str, kind: str | None, most: int | None, device: str, overwrite: bool,
    max_length: int | None, precision: str, columns: Mapping[str, Any],
) -> None:  # fmt: skip
    """Explains single texts, or the rows of a file.

    Args:
        name: a run folder, or any other trained classifier.
        data: a file of texts; None if `texts` are given.
        texts: single texts; empty if `data` is given.
        output: the file to write; None writes to the terminal.
        explainers: names of `salience.EXPLAINERS`, or captum:NAME.
        target: the class to explain: "predicted", "gold", or a label. Of a model of several labels, the first two are
            all such labels of a text.
        layer, head: of the attention explainers; None is the explainer's default.
        pieces: how the scores of a word's tokens become the word's score, "sum" or "max".
        precision: as of `salience.load`.
        kind: a value of `FORMATS`; None takes it from the name of `output`.
        most: number of rows to explain; None explains all.
        columns: names of the columns and the encoding, as `read_texts` takes them.

    Raises:
        InputError: the data, the model or an option is invalid. No output file is written then.
    """
    kind = kind or ("terminal" if output is None else format_of(output))
    if kind not in FORMATS:
        raise unknown("--format", kind, FORMATS)
    if kind == "terminal" and output is not None:
        raise InputError(f"{output}: name it with .jsonl or .html, or leave --output out to see it in the terminal")
    if kind == "html" and output is None:
        raise InputError("--format html needs a file: --output explanations.html")
    if bool(texts) == (data is not None):
        raise InputError("give either a file of texts, or --text, once or several times")
    if texts and (most is not None or any(columns.get(each) for each in ("text", "text_pair", "label"))):
        raise InputError("--most and the names of columns are about a file: leave them out with --text")
    if texts and target == "gold":
        raise InputError("--target gold explains right labels: give texts in a file that has them, not by --text")
    if not all(map(visible, texts)):
        raise InputError("--text has no words: give a text to explain")
    if output is not None and output.suffix.lower() != f".{kind}":
        raise InputError(f"{output}: name it with .{kind}, or choose the --format that its name says")
    check_output_file(output, overwrite)
    check_not_read(output, data)
    functions = chosen_explainers(explainers, layer, head)
    check_pieces(pieces, "--pieces")
    classifier = load(name, max_length, device, precision)
    trained = trained_columns(name)
    if texts and trained is not None and trained.text_pair is not None:
        raise InputError(f"{name} was trained on pairs of texts: give them in a file, --text gives single ones")
    # Command-line arguments that are not UTF-8 contain lone surrogates, which no tokenizer accepts.
    windows = (
        [Texts([well_formed(text) for text in texts])]
        if data is None
        else read_texts(data, classifier.labels, trained, most, columns, multi_label=classifier.multi_label)
    )
    with cannot(f"explain {name}" if data is None else f"explain {data} by {name}"):
        number = target_of(target, classifier.labels)
        explanations = chain.from_iterable(
            explain_texts(classifier, window, functions, number, pieces) for window in windows
        )
        title = f"{Path(name).name}: {Path(data).name if data else 'explanations'}"
        written, cut = write(explanations, kind, output, title)
    what = "decision" if classifier.multi_label else "text"
    if cut:
        tell(cut_off(cut, written, classifier.max_length, what))
    if output is not None:
        tell(f"{counted(written, what)} explained: {output}")


def format_of(output: Path) -> str:
    """The format that a file name's suffix stands for.

    Raises:
        InputError: the suffix is not one of a format.
    """
    kind = output.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise InputError(f"{output}: name it with .jsonl or .html, by which the format is known")
    return kind


def write(explanations: Iterable[Explanation], kind: str, output: Path | None, title: str) -> tuple[int, int]:
    """Writes explanations as they are computed; returns their number, and that of texts that were cut.

    Where a text can have several labels, it counts with each explanation.
    """
    seen: Counter[bool] = Counter()

    def noted() -> Iterator[Explanation]:
        for explanation in explanations:
            seen[explanation.cut] += 1
            yield explanation

    if kind == "html" and output is not None:
        page = explanation_page(noted(), title)
        with whole_file(output) as unfinished:
            unfinished.write_text(page, encoding="utf-8")
    elif kind == "jsonl":
        with nullcontext(print_rows) if output is None else writing(output, overwrite=True) as write_rows:
            for explanation in noted():
                write_rows([as_json(explanation)])
    else:
        console = Console(highlight=False)
        for explanation in noted():
            for name in explanation.scores:
                line = explanation_line(replace(explanation, scores={name: explanation.scores[name]}))
                suffix = f" [{name}]" if len(explanation.scores) > 1 else ""
                console.print(line.append(suffix), soft_wrap=True)
    return seen.total(), seen[True]


def print_rows(rows: list[dict]) -> None:
    """Rows as JSON lines to standard output."""
    for row in rows:
        print(json_printable(json.dumps(row, ensure_ascii=False)))
