"""`salience explain`: texts and explainers in, explanations in a terminal, as JSON lines, or as a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from salience.data.columns import choose_columns
from salience.data.reading import column_names, stream
from salience.data.values import text_of
from salience.data.writing import writing
from salience.errors import InputError, unknown
from salience.explain import EXPLAINERS, Attention
from salience.explain.explanations import Explanation, Text, explain_texts
from salience.models.loading import load_trained, longest_text
from salience.report.explanation_page import write_explanations
from salience.report.predictions import choose_device, tell
from salience.report.terminal import explanation_line

FORMATS = ("terminal", "jsonl", "html")


def explain_file(
    name: str, data: str | None, texts: list[str], output: Path | None, *, explainers: list[str], target: str,
    layer: int | None, head: int | None, kind: str | None, most: int | None, device: str, overwrite: bool,
    max_length: int | None, columns: Mapping[str, Any],
) -> None:  # fmt: skip
    """Explains texts given one by one, or the rows of a file.

    Raises:
        InputError: the data, the model or an option is at fault; no output file has been written then.
    """
    kind = kind or ("terminal" if output is None else output.suffix.lstrip(".").lower())
    if kind not in FORMATS:
        raise unknown("--format", kind, FORMATS)
    if kind == "html" and output is None:
        raise InputError("--format html needs a file: --output explanations.html")
    if bool(texts) == (data is not None):
        raise InputError("give either a file of texts, or --text, once or several times")
    if output is not None and output.suffix.lower() != f".{kind}":
        raise InputError(f"{output}: name it with .{kind}, or choose the --format that its name says")
    if output is not None and output.exists() and not overwrite:
        raise InputError(f"{output} exists: choose another --output, or --overwrite it")
    functions = chosen_explainers(explainers, layer, head)
    chosen_device = choose_device(device)
    model, tokenizer = load_trained(name)
    model.to(chosen_device)
    labels = [model.config.id2label[number] for number in range(model.config.num_labels)]
    rows = [Text(text) for text in texts] if data is None else read(data, labels, most, columns)
    longest = longest_text(model, tokenizer, max_length)
    try:
        found = explain_texts(model, tokenizer, rows, functions, target_of(target, labels), longest)
        written = write(found, kind, output, f"{Path(name).name}: {Path(data).name if data else 'explanations'}")
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"cannot explain {name}: {error}") from error
    if output is not None:
        tell(f"{written} texts explained: {output}")


def chosen_explainers(names: list[str], layer: int | None, head: int | None) -> dict[str, Callable]:
    for name in names:
        if name not in EXPLAINERS:
            raise unknown("explainer", name, EXPLAINERS)
    found = {name: EXPLAINERS[name] for name in names}
    if layer is not None or head is not None:
        if "attention" not in found:
            raise InputError("--layer and --head are of --explainer attention")
        own: Attention = found["attention"]
        found["attention"] = replace(own, layer=own.layer if layer is None else layer, head=head)
    return found


def target_of(target: str, labels: list[str]) -> int | str:
    """A label's number, or "predicted" or "gold" as they are."""
    if target in ("predicted", "gold"):
        return target
    if target not in labels:
        raise unknown("--target", target, ["predicted", "gold", *labels])
    return labels.index(target)


def read(data: str, labels: list[str], most: int | None, columns: Mapping[str, Any]) -> Iterator[Text]:
    """The rows of a file; rows without a text are left out, and a label that the model does not know is none."""
    encoding = columns["encoding"]
    named = {name: value for name, value in columns.items() if name != "encoding"}
    names = column_names(data, encoding)
    try:
        chosen, notes = choose_columns(names, **named, source=data)
    except InputError:  # a label is welcome, but need not be there
        chosen, notes = choose_columns(names, **named, need_label=False, source=data)
    for note in notes:
        tell(note)
    given = 0
    for row in stream(data, encoding):
        text = text_of(row.get(chosen.text))
        pair = None if chosen.text_pair is None else text_of(row.get(chosen.text_pair)) or ""
        if text is None:
            continue
        if given == most:
            tell(f"{data}: only its first {most} texts are explained; --most sets another number")
            return
        given += 1
        label = None if chosen.label is None else text_of(row.get(chosen.label))
        yield Text(text, pair, labels.index(label) if label in labels else None)


def write(found: Iterable[Explanation], kind: str, output: Path | None, title: str) -> int:
    if kind == "html":
        return write_explanations(found, title, output)
    if kind == "jsonl":
        number = 0
        with nullcontext(say) if output is None else writing(output, overwrite=True) as give:
            for number, own in enumerate(found, 1):  # noqa: B007
                give([as_json(own)])
        return number
    console = Console(highlight=False)
    number = 0
    for own in found:
        for name in own.scores:
            one = replace(own, scores={name: own.scores[name]})
            which = f" [{name}]" if len(own.scores) > 1 else ""
            console.print(explanation_line(one).append(which), soft_wrap=True)
        number += 1
    return number


def say(rows: list[dict]) -> None:
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))


def as_json(own: Explanation) -> dict:
    return {
        "words": own.words, "second": own.second, "predicted": own.labels[own.predicted],
        "explained": own.labels[own.target], "label": None if own.gold is None else own.labels[own.gold],
        "probabilities": {
            name: round(float(value), 6) for name, value in zip(own.labels, own.probabilities, strict=True)
        },
        "scores": {name: [round(float(value), 8) for value in scores] for name, scores in own.scores.items()},
    }  # fmt: skip
