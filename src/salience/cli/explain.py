"""`salience explain`: texts and explainers in; explanations in a terminal, as JSON lines, or as a page out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from salience.cli import options
from salience.cli.options import catalogue
from salience.errors import InputError, counted, json_printable, unknown
from salience.settings import comma_separated
from salience.work import hidden, tracked

if TYPE_CHECKING:
    from salience.classify import TextClassifier
    from salience.data.texts import Texts
    from salience.explainers.explanation import Explanation

FORMATS = ("terminal", "jsonl", "html")


def explainer_rows() -> list[tuple[str, str]]:
    """The explainers with what their scores are."""
    from inspect import getdoc

    from salience.explainers import EXPLAINERS

    rows = [(name, (getdoc(explainer) or "").split("\n")[0]) for name, explainer in EXPLAINERS.items()]
    return [*rows, ("captum:NAME", "A method of the package captum.")]


def explain(
    model: options.Model,
    data: Annotated[str | None, Argument(help="Texts to explain, as for `salience predict`.")] = None,
    text: Annotated[list[str] | None, Option("--text", help="Text to explain; repeatable.")] = None,
    explainer: Annotated[str, Option(help="Explainers, separated by commas.")] = "gradient",
    list_explainers: Annotated[bool, catalogue("--list-explainers", "explainers", explainer_rows)] = False,
    target: Annotated[str, Option(help="predicted, gold, or a label.")] = "predicted",
    layer: Annotated[int | None, Option(help="Layer for attention; -1 is the last.  [default: -1]")] = None,
    head: Annotated[int | None, Option(help="Head for attention.  [default: mean of all]")] = None,
    pieces: options.Pieces = "sum",
    precision: options.Precision = "auto",
    text_column: Annotated[str | None, Option(help="Column of the text.  [default: as in training]")] = None,
    text_pair: options.TextPair = None,
    label: options.Label = None,
    encoding: options.Encoding = "utf-8",
    max_length: options.MaxLength = None,
    device: options.Device = "auto",
    output: Annotated[Path | None, Option(help=".jsonl or .html file.  [default: the terminal]")] = None,
    format_: Annotated[
        str | None, Option("--format", help="terminal, jsonl or html.  [default: by the file's name]")
    ] = None,
    most: Annotated[int | None, Option(min=1, help="Only the first texts.  [default: all]")] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Show the words by which a classifier decides: in the terminal, as JSON lines, or as one self-contained page."""
    texts = text or []
    kind = format_ or ("terminal" if output is None else output.suffix.lstrip(".").lower())
    if format_ is not None and kind not in FORMATS:
        raise unknown("--format", kind, FORMATS)
    if output is not None and (kind == "terminal" or kind not in FORMATS or output.suffix.lower() != f".{kind}"):
        raise InputError(
            f"{output}: name it with .jsonl or .html, which a --format must fit, or leave --output out to see it in "
            "the terminal"
        )
    if kind == "html" and output is None:
        raise InputError("--format html needs a file: --output explanations.html")
    if bool(texts) == (data is not None):
        raise InputError("give either a file of texts, or --text, once or several times")
    if texts and (most is not None or text_column or text_pair or label):
        raise InputError("--most and the names of columns are about a file: leave them out with --text")
    if texts and target == "gold":
        raise InputError("--target gold explains right labels: give texts in a file that has them, not by --text")

    from salience.processes import importing

    with importing():
        from salience.classify import load
        from salience.cli.rows import cannot, check_model_and_data, count_rows, read_texts
        from salience.data.labels import visible
        from salience.data.task import check_not_read
        from salience.data.texts import Texts
        from salience.explainers.explain import EXPLAINING, check_pieces, explain_texts
        from salience.files import check_output_file, input_first
        from salience.report.terminal import cut_off, tell
        from salience.runs.folder import trained_columns

    if not all(map(visible, texts)):
        raise InputError("--text has no words: give a text to explain")
    columns = {"text": text_column, "text_option": "--text-column", "text_pair": text_pair, "label": label,
               "encoding": encoding}  # fmt: skip
    with input_first(lambda: check_model_and_data([model], data, columns)):
        check_output_file(output, overwrite)
        check_not_read(output, data)
    explainers = chosen_explainers(comma_separated(explainer), layer, head)
    check_pieces(pieces, "--pieces")
    classifier = load(model, max_length, device, precision)
    trained = trained_columns(model)
    if texts and classifier.pairs:
        raise InputError(f"{model} was trained on pairs of texts: give them in a file, --text gives single ones")
    windows: Iterable[Texts] = [Texts(texts)]
    if data is not None:
        parts = read_texts(data, classifier.labels, trained, most, columns, multi_label=classifier.multi_label)
        windows = tracked(parts, count_rows(data, encoding, most), EXPLAINING, size=len)
    with cannot(f"explain {model}" if data is None else f"explain {data} by {model}"):
        number = target_of(target, classifier.labels)
        explanations = chain.from_iterable(
            explain_texts(classifier, window, explainers, number, pieces) for window in windows
        )
        title = f"{Path(model).name}: {Path(data).name if data else 'explanations'}"
        written, cut = write(explanations, kind, output, title)
    what = "decision" if classifier.multi_label else "text"
    if cut:
        tell(cut_off(cut, written, classifier.max_length, what))
    if output is not None:
        tell(f"{counted(written, what)} explained: {output}")


def write(explanations: Iterable[Explanation], kind: str, output: Path | None, title: str) -> tuple[int, int]:
    """Writes explanations as they are computed; returns their number, and how many are of texts that were cut."""
    from rich.console import Console

    from salience.data.writing import standard_output, writing
    from salience.explainers.explanation import as_json
    from salience.files import whole_file
    from salience.report.terminal import explanation_line

    seen: Counter[bool] = Counter()

    def noted() -> Iterator[Explanation]:
        for explanation in explanations:
            seen[explanation.cut] += 1
            yield explanation

    def print_rows(rows: list[dict]) -> None:
        with hidden():
            for row in rows:
                print(json_printable(json.dumps(row, ensure_ascii=False)), file=standard_output())

    if kind == "html" and output is not None:
        from salience.report.explanation_page import explanation_page  # its frame imports what draws

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
            for name, scores in explanation.scores.items():
                line = explanation_line(replace(explanation, scores={name: scores}))
                suffix = f" [{name}]" if len(explanation.scores) > 1 else ""
                with hidden():
                    console.print(line.append(suffix), soft_wrap=True)
    return seen.total(), seen[True]


# What `salience faithfulness` and `salience demo` need too.


def chosen_explainers(names: Sequence[str], layer: int | None = None, head: int | None = None) -> dict[str, Callable]:
    """Explainers of `salience.EXPLAINERS` or captum:NAME, with the layer and head of attention explainers."""
    from salience.explainers import EXPLAINERS, Attention, ClsAttention
    from salience.explainers.from_captum import FromCaptum

    explainers: dict[str, Callable] = {}
    for name in names:
        if name.startswith("captum:"):
            explainers[name] = FromCaptum(name.removeprefix("captum:"))
        elif name in EXPLAINERS:
            explainers[name] = EXPLAINERS[name]
        else:
            raise unknown("explainer", name, [*EXPLAINERS, "captum:NAME"])
    if layer is None and head is None:
        return explainers
    attention = {name: each for name, each in explainers.items() if isinstance(each, Attention | ClsAttention)}
    if not attention:
        raise InputError("--layer and --head are of --explainer attention and cls-attention")
    for name, each in attention.items():
        explainers[name] = replace(each, layer=each.layer if layer is None else layer, head=head)
    return explainers


def applicable_explainers(classifier: TextClassifier, texts: Texts) -> dict[str, Callable]:
    """The explainers that can explain this classifier, by name; they are tried on the first text."""
    from salience.explainers import EXPLAINERS
    from salience.explainers.explain import explain_texts

    applicable = {}
    for name, explainer in EXPLAINERS.items():
        try:
            list(explain_texts(classifier, texts.take([0]), {name: explainer}))
        except InputError:
            raise
        except ValueError:
            continue
        applicable[name] = explainer
    return applicable


def target_of(target: str, labels: list[str]) -> int | str:
    """The number of a label; "predicted" and "gold" stay as they are."""
    if target in ("predicted", "gold"):
        return target
    if target not in labels:
        raise unknown("--target", target, ["predicted", "gold", *labels])
    return labels.index(target)
