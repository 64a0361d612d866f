"""`salience faithfulness`: a model, a judge and labelled texts in, the table of explainers by metrics out."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from salience.cli import options
from salience.cli.explain import applicable_explainers, chosen_explainers, target_of
from salience.cli.options import catalogue
from salience.errors import InputError, counted, listed
from salience.settings import comma_separated

if TYPE_CHECKING:
    from salience.data.texts import Texts
    from salience.faithfulness.results import Evaluation

FILES = TABLE, VALUES, PAGE = ("faithfulness.json", "values.jsonl", "index.html")


def metric_rows() -> list[tuple[str, str]]:
    """The metrics with unit, direction and source."""
    from salience.faithfulness import METRICS

    return [(name, f"{metric.unit}, {metric.direction}. {metric.reference}") for name, metric in METRICS.items()]


def faithfulness(
    model: options.Model,
    data: Annotated[str, Argument(help="Labelled texts that it was not trained on.")],
    judge: Annotated[str | None, Option(help="Model that scores shortened texts.  [default: MODEL]")] = None,
    explainer: Annotated[str | None, Option(help="Explainers, by commas; random is added.  [default: all]")] = None,
    metrics: Annotated[str | None, Option(help="Metrics, by commas: accuracy-drop@5.  [default: all]")] = None,
    list_metrics: Annotated[bool, catalogue("--list-metrics", "metrics", metric_rows)] = False,
    target: Annotated[str, Option(help="Explain predicted, gold, or a label.")] = "predicted",
    pieces: options.Pieces = "sum",
    precision: Annotated[str, Option(help="Number format: fp32, bf16 or auto.")] = "auto",
    most: Annotated[int, Option(help="Words removed, at most.")] = 20,
    at: Annotated[int, Option(help="Words for metrics whose name ends in @k.")] = 5,
    rows: Annotated[int | None, Option(help="Read only the first texts.  [default: all]")] = None,
    marks: Annotated[str | None, Option(help="Column of the words that people marked.")] = None,
    text: options.Text = None,
    text_pair: options.TextPair = None,
    label: options.Label = None,
    encoding: options.Encoding = "utf-8",
    max_length: options.MaxLength = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    output: Annotated[Path | None, Option(help="Folder for JSON and a page with curves.")] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Test explanations: remove the words that an explainer scores highest, and measure how the decision changes."""
    from rich.console import Console
    from transformers import set_seed

    from salience.classify import load
    from salience.cli.rows import cannot, check_model_and_data, labelled_texts, read_texts
    from salience.data.marks import marks_in
    from salience.data.texts import Texts
    from salience.explainers.explain import check_pieces
    from salience.faithfulness import metrics_named
    from salience.faithfulness.evaluation import evaluate
    from salience.files import check_folder, input_first, whole_folder, write_lines, write_whole
    from salience.report.faithfulness_page import faithfulness_json, faithfulness_page, terminal_tables
    from salience.report.terminal import tell
    from salience.runs.folder import trained_columns

    asked_metrics = None if metrics is None else comma_separated(metrics)
    if most < 1:
        raise InputError(f"--most must be at least 1, not {most}")
    if not 1 <= at <= most:
        raise InputError(f"--at {at} must be from 1 to --most {most}")
    check_pieces(pieces, "--pieces")
    for metric, entry in metrics_named(asked_metrics or ()).items():
        if entry.needs == "marks" and marks is None:
            raise InputError(f"--metrics {metric} needs marked words: --marks names their column")
    columns = {"text": text, "text_pair": text_pair, "label": label, "encoding": encoding}
    with input_first(lambda: check_model_and_data([model, *([judge] if judge else [])], data, columns)):
        check_folder(output, overwrite)
    classifier = load(model, max_length, device, precision)
    judging = None if judge is None else load(judge, max_length, device, precision)
    if judging is not None and judging.labels != classifier.labels:
        raise InputError(
            f"{judge} knows the labels {listed(judging.labels)}, but {model} {listed(classifier.labels)}: they must "
            "be the same"
        )
    asked, several = target_of(target, classifier.labels), classifier.multi_label
    read = data, classifier.labels, trained_columns(model), rows
    read_marks = partial(marks_in, spans=classifier.word_spans)
    if not several or target == "gold":
        texts = labelled_texts(*read, columns, marks, several, read_marks)
    else:  # of several labels, none need be known
        parts = read_texts(*read, columns, marks, multi_label=True, read_marks=read_marks)
        texts = replace(Texts.concatenated(parts), labels=None)
        if not len(texts):
            raise InputError(f"{data} has no texts")
    if explainer is None:
        functions = applicable_explainers(classifier, texts)
    else:
        functions = chosen_explainers(comma_separated(explainer))
    set_seed(seed)
    with cannot(f"test {model}"):
        evaluation = evaluate(
            classifier, texts, explainers=functions, metrics=asked_metrics, judge=judging, target=asked, most=most,
            at=at, pieces=pieces, curves=output is not None and not several, seed=seed, say=tell,
        )  # fmt: skip
    judged = "the model itself" if judge is None else Path(judge).name
    about = what_is_measured(evaluation, texts, Path(data).name, Path(model).name, target, judged, most, pieces)
    console = Console()
    for table in terminal_tables(evaluation, about, console.width):
        console.print(table)
    if marks is not None and not any(row.marked for row in evaluation.rows):
        tell(f"{data}: no word of a text is marked with the text's label; the labels are {listed(classifier.labels)}")
    if output is None:
        return
    with whole_folder(output, own=FILES) as folder:
        write_whole(folder / TABLE, json.dumps(faithfulness_json(evaluation, about), indent=1))
        write_whole(folder / PAGE, faithfulness_page(evaluation, f"Faithfulness of {Path(model).name}", about))
        if several:
            write_lines(folder / VALUES, value_rows(evaluation, texts))
    tell(f"saved: {output}/{TABLE}, {PAGE}{f', {VALUES}' if several else ''}")


def what_is_measured(
    evaluation: Evaluation, texts: Texts, data: str, name: str, target: str, judge: str, most: int, pieces: str
) -> str:
    """What the explanations are of, what judged them, and what a reader of the table must know of its numbers."""
    from salience.faithfulness.evaluation import DRAWS, LEAVE_ONE_OUT_TEXTS

    # Where texts are multi-label, some may have none to explain.
    number = len(texts) if evaluation.texts is None else len(set(evaluation.texts))
    of_data = f"{counted(number, 'text')} of {data}"
    if evaluation.targets is None:
        parts = [f"{of_data}, explained for the class that {name} predicts; shortened texts scored by {judge}"]
    else:
        which = {"predicted": f"predicted by {name}", "gold": "right"}.get(target, f"the label {target}")
        parts = [
            f"{counted(len(evaluation.targets), 'label')} of {of_data}, {which}, each explained by itself; shortened "
            f"texts scored by {judge}"
        ]
    if evaluation.scored:
        parts.append(evaluation.scored)
    if pieces == "max":
        parts.append("a word's score is the highest of its tokens' scores")
    parts.append(f"means over texts with 95 % bootstrap intervals; random: the mean of {DRAWS} random orders")
    if "decision-flip" in evaluation.metrics:
        parts.append(f"decision-flip is {most + 1} where removing {most} words does not flip the decision")
    if "loo-tau" in evaluation.metrics:
        parts.append(f"loo-tau is measured on {counted(min(LEAVE_ONE_OUT_TEXTS, number), 'text')}")
    return "; ".join(parts)


def value_rows(evaluation: Evaluation, texts: Texts) -> list[dict[str, Any]]:
    """The values of each explainer, text and label, with the number of the text's row; None where one is undefined."""
    rows = []
    for values in evaluation.to_value_rows():
        place: Any = values.pop("text")
        known = {name: None if value != value else value for name, value in values.items()}  # NaN
        rows.append({"row": place + 1 if texts.rows is None else texts.rows[place], **known})
    return rows
