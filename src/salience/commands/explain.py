"""`salience explain`: texts and explainers in, explanations in a terminal, as JSON lines, or as a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from salience.commands.labelled_texts import cannot, check_pieces, read_texts
from salience.data.values import well_formed
from salience.data.writing import writing
from salience.errors import InputError, counted, json_printable, unknown
from salience.explainers import EXPLAINERS, Attention, ClsAttention
from salience.explainers.explanations import Explanation, Text, explain_texts
from salience.explainers.from_captum import FromCaptum
from salience.inference import load
from salience.outputs import check_output_file
from salience.report.explanation_page import known, write_explanations
from salience.report.terminal import cut_off, explanation_line, tell
from salience.training.folder import trained_columns

FORMATS = ("terminal", "jsonl", "html")


def explain_file(
    name: str, data: str | None, texts: list[str], output: Path | None, *, explainers: list[str], target: str,
    layer: int | None, head: int | None, pieces: str, kind: str | None, most: int | None, device: str, overwrite: bool,
    max_length: int | None, columns: Mapping[str, Any],
) -> None:  # fmt: skip
    """Explains texts given one by one, or the rows of a file.

    Raises:
        InputError: the data, the model or an option is at fault; no output file has been written then.
    """
    kind = kind or ("terminal" if output is None else kind_of(output))
    if kind not in FORMATS:
        raise unknown("--format", kind, FORMATS)
    if kind == "terminal" and output is not None:
        raise InputError(f"{output}: name it with .jsonl or .html, or leave --output out to see it in the terminal")
    if kind == "html" and output is None:
        raise InputError("--format html needs a file: --output explanations.html")
    if bool(texts) == (data is not None):
        raise InputError("give either a file of texts, or --text, once or several times")
    if output is not None and output.suffix.lower() != f".{kind}":
        raise InputError(f"{output}: name it with .{kind}, or choose the --format that its name says")
    check_output_file(output, overwrite)
    functions = chosen_explainers(explainers, layer, head)
    check_pieces(pieces)
    classifier = load(name, max_length, device)
    trained = trained_columns(name)
    if texts and trained is not None and trained.text_pair is not None:
        raise InputError(f"{name} was trained on pairs of texts: give them in a file, --text gives single ones")
    # Arguments that are not UTF-8, and texts with half characters, come in as no tokenizer takes them.
    rows = (
        [Text(well_formed(text)) for text in texts]
        if data is None
        else read_texts(data, classifier.labels, trained, most, columns)
    )
    with cannot(f"explain {name}"):
        found = explain_texts(classifier, rows, functions, target_of(target, classifier.labels), pieces)
        title = f"{Path(name).name}: {Path(data).name if data else 'explanations'}"
        written, cut = write(found, kind, output, title)
    if cut:
        tell(cut_off(cut, written, classifier.max_length))
    if output is not None:
        tell(f"{counted(written, 'text')} explained: {output}")


def kind_of(output: Path) -> str:
    """What a file's name says is wanted.

    Raises:
        InputError: it says nothing of the kind.
    """
    kind = output.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise InputError(f"{output}: name it with .jsonl or .html, by which the format is known")
    return kind


def chosen_explainers(names: list[str], layer: int | None, head: int | None) -> dict[str, Callable]:
    found = {name: explainer_named(name) for name in names}
    if layer is not None or head is not None:
        attending = {name: own for name, own in found.items() if isinstance(own, Attention | ClsAttention)}
        if not attending:
            raise InputError("--layer and --head are of --explainer attention and cls-attention")
        for name, own in attending.items():
            found[name] = replace(own, layer=own.layer if layer is None else layer, head=head)
    return found


def explainer_named(name: str) -> Callable:
    """One of our own, or captum's: captum:NAME."""
    if name.startswith("captum:"):
        return FromCaptum(name.removeprefix("captum:"))
    if name not in EXPLAINERS:
        raise unknown("explainer", name, [*EXPLAINERS, "captum:NAME"])
    return EXPLAINERS[name]


def target_of(target: str, labels: list[str]) -> int | str:
    """A label's number, or "predicted" or "gold" as they are."""
    if target in ("predicted", "gold"):
        return target
    if target not in labels:
        raise unknown("--target", target, ["predicted", "gold", *labels])
    return labels.index(target)


def write(found: Iterable[Explanation], kind: str, output: Path | None, title: str) -> tuple[int, int]:
    """Writes as they come; gives the number of texts, and of those that were cut."""
    seen: Counter[bool] = Counter()

    def noted() -> Iterator[Explanation]:
        for own in found:
            seen[own.cut] += 1
            yield own

    if kind == "html":
        write_explanations(noted(), title, output)
    elif kind == "jsonl":
        with nullcontext(say) if output is None else writing(output, overwrite=True) as give:
            for own in noted():
                give([as_json(own)])
    else:
        console = Console(highlight=False)
        for own in noted():
            for name in own.scores:
                one = replace(own, scores={name: own.scores[name]})
                which = f" [{name}]" if len(own.scores) > 1 else ""
                console.print(explanation_line(one).append(which), soft_wrap=True)
    return seen.total(), seen[True]


def say(rows: list[dict]) -> None:
    for row in rows:
        print(json_printable(json.dumps(row, ensure_ascii=False)))


def as_json(own: Explanation) -> dict:
    return {
        "row": own.row, "words": own.words, "second": own.second, "cut": own.cut,
        "predicted": own.labels[own.predicted], "explained": own.labels[own.target],
        "label": None if own.gold is None else own.labels[own.gold],
        "probabilities": {
            name: known(round(float(value), 6)) for name, value in zip(own.labels, own.probabilities, strict=True)
        },
        "scores": {name: [known(float(f"{value:.6g}")) for value in scores] for name, scores in own.scores.items()},
    }  # fmt: skip
