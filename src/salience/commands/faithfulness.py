"""`salience faithfulness`: a model, a judge and labelled texts in, the table of explainers by metrics out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.console import Console
from transformers import set_seed

from salience.classify import TextClassifier, load
from salience.commands.explain_options import chosen_explainers, target_of
from salience.commands.labelled_texts import cannot, labelled_texts, read_texts
from salience.data.columns import Columns
from salience.data.texts import Texts
from salience.errors import InputError, counted, listed
from salience.explainers import EXPLAINERS
from salience.explainers.explain import check_pieces, explain_texts
from salience.faithfulness import metrics_named
from salience.faithfulness.evaluation import DRAWS, LEAVE_ONE_OUT_TEXTS, evaluate
from salience.faithfulness.results import Evaluation
from salience.files import check_folder, whole_folder, write_whole
from salience.report.faithfulness_page import faithfulness_json, faithfulness_page, marked_table, terminal_tables
from salience.report.terminal import tell
from salience.runs.folder import trained_columns

FILES = TABLE, VALUES, PAGE = ("faithfulness.json", "values.jsonl", "index.html")


def check_explanations(
    name: str, data: str, *, judge: str | None, explainers: list[str] | None, most: int, at: int, rows: int | None,
    seed: int, device: str, output: Path | None, overwrite: bool, max_length: int | None, columns: Mapping[str, Any],
    marks: str | None = None, pieces: str = "sum", metrics: list[str] | None = None, precision: str = "auto",
    target: str = "predicted",
) -> None:  # fmt: skip
    """Prints the table of explainers by metrics and, if a folder is named, writes it there with its curves.

    Args:
        name: the classifier that is explained, a folder or a name on the Hugging Face hub.
        judge: the classifier whose decisions are watched; None is the explained one.
        metrics: names of `salience.METRICS` with a number in place of `k`; None is all that apply, at `at` words.
        precision: as of `salience.load`.
        marks: the column that has a label for every word.
        target: where a text can have several labels, "predicted", "gold", or the name of one.

    Raises:
        InputError: the data, a model or an option is at fault.
    """
    check_options(at, most, rows, pieces, metrics, marks)
    check_folder(output, overwrite)
    classifier = load(name, max_length, device, precision)
    judging = None if judge is None else load(judge, max_length, device, precision)
    if judging is not None and judging.labels != classifier.labels:
        raise InputError(
            f"{judge} knows the labels {listed(judging.labels)}, but {name} {listed(classifier.labels)}: they must be "
            "the same"
        )
    asked = target_of(target, classifier.labels)
    texts = texts_to_test(data, classifier, trained_columns(name), rows, columns, marks, needs_labels=target == "gold")
    if marks is not None and texts.second is not None:
        raise InputError(f"{data}: words are marked in single texts only, not in pairs")
    functions = (
        applicable_explainers(classifier, texts) if explainers is None else chosen_explainers(explainers, None, None)
    )
    set_seed(seed)
    with cannot(f"test {name}"):
        evaluation = evaluate(
            classifier, texts, explainers=functions, metrics=metrics, judge=judging, target=asked, most=most, at=at,
            pieces=pieces, curves=output is not None and not classifier.multi_label, seed=seed, say=tell,
        )  # fmt: skip
    explained = what_is_explained(evaluation, texts, Path(data).name, Path(name).name, target)
    judged = "the model itself" if judge is None else Path(judge).name
    notes = [f"{explained}, judged by {judged}", *remarks(evaluation, texts, most, pieces)]
    about = "; ".join(notes)
    console = Console()
    for table in terminal_tables(evaluation, about, console.width):
        console.print(table)
    if any(row.marked for row in evaluation.rows):
        console.print(marked_table(evaluation))
    elif marks is not None:
        tell(f"{data}: no word of a text is marked with the text's label; the labels are {listed(classifier.labels)}")
    if output is not None:
        save(evaluation, texts, output, f"Faithfulness of {Path(name).name}", about)


def check_options(
    at: int, most: int, rows: int | None, pieces: str, metrics: list[str] | None, marks: str | None
) -> None:
    """Raises an `InputError` if an option is out of range, or a metric lacks what it needs."""
    if most < 1:
        raise InputError(f"--most must be at least 1, not {most}")
    if not 1 <= at <= most:
        raise InputError(f"--at {at} must be from 1 to --most {most}")
    if rows is not None and rows < 1:
        raise InputError(f"--rows must be at least 1, not {rows}")
    check_pieces(pieces, "--pieces")
    for metric, entry in metrics_named(metrics or ()).items():
        if entry.needs == "marks" and marks is None:
            raise InputError(f"--metrics {metric} needs marked words: --marks names their column")


def remarks(evaluation: Evaluation, texts: Texts, most: int, pieces: str) -> list[str]:
    """What a reader of the table must know of its numbers."""
    told = [f"means over texts with 95 % bootstrap intervals, for random over {DRAWS} draws"]
    if pieces == "max":
        told.insert(0, "a word's score is the highest of its tokens' scores")
    if "decision-flip" in evaluation.metrics:
        told.append(f"decision-flip is {most + 1} where {most} words are not enough")
    if "loo-tau" in evaluation.metrics:
        drawn = min(LEAVE_ONE_OUT_TEXTS, number_of_texts(evaluation, texts))
        told.append(f"loo-tau is over {counted(drawn, 'text')}")
    return told


def save(evaluation: Evaluation, texts: Texts, output: Path, title: str, about: str) -> None:
    """Writes the table, the page with its curves, and the values where there is one for each text and label.

    Args:
        output: the folder. Of an earlier evaluation there, nothing is left.
        title: of the page.
        about: what was evaluated, in words.
    """
    of_labels = evaluation.targets is not None
    with whole_folder(output, own=FILES) as folder:
        write_whole(folder / TABLE, json.dumps(faithfulness_json(evaluation, about), indent=1))
        if of_labels:
            write_whole(folder / VALUES, value_lines(evaluation, texts))
        write_whole(folder / PAGE, faithfulness_page(evaluation, title, about))
    tell(f"saved: {output}/{TABLE}, {PAGE}{f', {VALUES}' if of_labels else ''}")


def texts_to_test(
    data: str, classifier: TextClassifier, trained: Columns | None, rows: int | None, columns: Mapping[str, Any],
    marks: str | None, needs_labels: bool,
) -> Texts:  # fmt: skip
    """The texts of a file: those whose labels are known, or all where a text can have several and none are needed.

    Args:
        needs_labels: whether labels are needed where a text can have several.

    Raises:
        InputError: there are none.
    """
    several = classifier.multi_label
    if not several or needs_labels:
        return labelled_texts(data, classifier.labels, trained, rows, columns, marks, several)
    texts = Texts.concatenated(read_texts(data, classifier.labels, trained, rows, columns, marks, multi_label=several))
    if not len(texts):
        raise InputError(f"{data} has no texts")
    return replace(texts, labels=None)


def number_of_texts(evaluation: Evaluation, texts: Texts) -> int:
    """The number of texts that have a value; where a text can have several labels, some may have none."""
    return len(texts) if evaluation.texts is None else len(np.unique(evaluation.texts))


def what_is_explained(evaluation: Evaluation, texts: Texts, data: str, name: str, target: str) -> str:
    """What the explanations are of, in words."""
    judged = counted(number_of_texts(evaluation, texts), "text")
    if evaluation.targets is None:
        return f"{judged} of {data}, explained for the class that {name} predicts"
    which = {"predicted": f"predicted by {name}", "gold": "right"}.get(target, f"the label {target}")
    return (
        f"{counted(len(evaluation.targets), 'label')} of {judged} of {data}, {which}, each explained by itself: its "
        "probability, and whether it is predicted"
    )


def value_lines(evaluation: Evaluation, texts: Texts) -> str:
    """The values of each explainer, text and label as JSON lines, with the number of the text's row."""
    lines = []
    for values in evaluation.to_value_rows():
        place = cast(int, values.pop("text"))
        known = {name: None if isinstance(value, float) and isnan(value) else value for name, value in values.items()}
        lines.append(json.dumps({"row": place + 1 if texts.rows is None else texts.rows[place], **known}))
    return "\n".join(lines) + "\n"


def applicable_explainers(classifier: TextClassifier, texts: Texts) -> dict[str, Callable]:
    """The explainers that can explain this classifier, by name; they are tried on the first text."""
    first, applicable = texts.take([0]), {}
    for name, explainer in EXPLAINERS.items():
        try:
            list(explain_texts(classifier, first, {name: explainer}))
        except InputError:
            raise
        except ValueError:
            continue
        applicable[name] = explainer
    return applicable
