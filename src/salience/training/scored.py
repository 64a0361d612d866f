"""How good a finished run is on rows that were labelled since, by the scores of test rows; nothing is trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from salience.classify import TextClassifier
from salience.classify.abstaining import read_thresholds
from salience.data.columns import choose_as_trained
from salience.data.encoding import Encoded
from salience.data.labels import encode, is_multi_label, separate
from salience.data.reading import column_names
from salience.data.task import Part, Task, read_part
from salience.data.texts import Texts
from salience.data.values import Label
from salience.errors import InputError, counted, listed, quoted
from salience.runs.folder import METRICS, trained_columns
from salience.runs.results import Run, data_facts, read_run
from salience.runs.sentences import training_rows_among
from salience.scores.held_out import decided_scores
from salience.scores.metrics import each_label
from salience.scores.predictions import Predictions
from salience.training.baselines import held_out_scores
from salience.training.deciding import of_label
from salience.training.prepare import silent
from salience.training.recipe import Recipe
from salience.training.task import checksums, read_task


def scored_on(
    model: str, classifier: TextClassifier, source: str, columns: Mapping[str, str | None],
    encoding: str = "utf-8", bad_rows: str = "error", note: Callable[[str], None] = silent,
) -> Run:  # fmt: skip
    """A run as if these rows had been its test rows; without a recipe and an estimate, if the model has none.

    Rows with a label that the model does not know have no right answer that it could give: they are left out.

    Args:
        model: a run folder, or another trained classifier.
        classifier: that model, loaded.
        columns: `text`, `text_pair`, `label` and `empty_label`, as far as they are named.

    Raises:
        InputError: the rows are at fault, or none of them has known labels.
    """
    texts, given, _, notes, left_out = labelled_rows(model, classifier, source, columns, encoding, bad_rows)
    for each in notes:
        note(each)
    labels = encode(given, classifier.labels, source, texts.rows or [])
    texts, encoded = replace(texts, labels=labels), classifier.read(texts)
    predictions = classifier.predictions(encoded, labels)
    run = read_run(model) if (Path(model).expanduser() / METRICS).is_file() else Run(Path(model), {"seed": 0}, {}, [])
    task = Task(
        classifier.labels, training_rows(run, classifier.labels), test=texts,
        left_out={"test": left_out} if left_out else {},
    )  # fmt: skip
    facts = facts_of(run, classifier, task, encoded)
    if shared := training_rows_among(facts, "test"):
        note(shared)
    return replace(
        run, recipe=run.recipe | {"test": source}, metrics=metrics_of(run, classifier, task, predictions),
        labels=classifier.labels, predictions=predictions, history=[], facts=facts, corrected=[], task=task,
        classifier=classifier,
    )  # fmt: skip


def labelled_rows(
    model: str, classifier: TextClassifier, source: str, columns: Mapping[str, str | None], encoding: str,
    bad_rows: str,
) -> Part:  # fmt: skip
    """The rows all of whose labels a model knows; arguments as of `scored_on`."""
    trained = trained_columns(model)
    found, notes = choose_as_trained(column_names(source, encoding), trained, columns, need_label=True, source=source)
    part = read_part(source, found, encoding, bad_rows)
    if is_multi_label(part.labels) != classifier.multi_label:
        one, several = "one label a text", "lists of labels"
        own, learnt = (one, several) if classifier.multi_label else (several, one)
        raise InputError(f"{source}: the rows have {own}, and {model} gives {learnt}")
    kept, line = known_rows(part.labels, classifier.labels, source)
    return part._replace(
        texts=part.texts.take(kept), labels=[part.labels[row] for row in kept],
        notes=[*filter(None, (*notes, *part.notes, line))],
    )  # fmt: skip


def known_rows(given: Sequence[Label], labels: Sequence[str], source: str) -> tuple[list[int], str]:
    """The rows all of whose labels are known, and a line that counts and names the others."""
    unknown = [[label for label in separate(each) if label not in labels] for each in given]
    kept = [row for row, of_row in enumerate(unknown) if not of_row]
    if len(kept) == len(given):
        return kept, ""
    counts = Counter(label for of_row in unknown for label in of_row)
    named = listed([f"{quoted(label)} ({count:,})" for label, count in counts.most_common()], 5)
    rows = f"{source}: {counted(len(given) - len(kept), 'row')} of {len(given):,}"
    told = f"{rows} with labels that the model does not know, {named}"
    if not kept:
        raise InputError(f"{told}; it knows {listed(map(quoted, labels), 5)}")
    return kept, f"{told}: the scores are of the others"


def training_rows(run: Run, labels: list[str]) -> Texts:
    """The rows that a run was trained on; none where its files are not there any more, or have changed since."""
    try:
        recipe = Recipe.from_mapping({**run.recipe, "test": None, "validation": None, "teacher": None})
        checksums(recipe)
        task = read_task(recipe, silent)
    except (InputError, OSError):
        return Texts([])
    return task.training if task.labels == labels and not run.recipe.get("teacher") else Texts([])


def metrics_of(run: Run, classifier: TextClassifier, task: Task, predictions: Predictions) -> dict[str, Any]:
    """What metrics.json would say of the scores, with the estimate of the run beside them."""
    probabilities, labels = predictions.probabilities, predictions.labels
    metrics = held_out_scores(task, {"test": predictions}, run.recipe["seed"])
    metrics["rows"] = run.metrics.get("rows", {}) | {"test": len(task.test)}
    of_training = {part: number for part, number in run.metrics.get("left_out", {}).items() if part != "test"}
    if left_out := of_training | dict(task.left_out):
        metrics["left_out"] = left_out
    if "estimate" in run.metrics:
        metrics["estimate"] = run.metrics["estimate"]
    if classifier.multi_label:
        metrics["labels"] = each_label(
            probabilities, labels, predictions.decisions, task.labels, classifier.thresholds
        )
    elif (thresholds := read_thresholds(run.folder, task.labels)) is not None and "abstention" in run.metrics:
        values = np.array([thresholds.values[label] for label in task.labels])
        metrics["abstention"] = run.metrics["abstention"] | {"test": decided_scores(probabilities, labels, values)}
    if classifier.has_thresholds and not classifier.multi_label:
        number = int(np.flatnonzero(~np.isnan(classifier.thresholds))[0])
        own = {"label": task.labels[number], "threshold": float(classifier.thresholds[number])}
        kept = run.metrics.get("label_threshold", {})
        known = kept if own.items() <= kept.items() else own  # else it was not saved by salience
        metrics["label_threshold"] = known | {"test": of_label(predictions, number)}
    return metrics


def facts_of(run: Run, classifier: TextClassifier, task: Task, encoded: Encoded) -> dict[str, Any] | None:
    """The facts on the rows beside those on the training rows; None if the run has kept none."""
    if run.facts is None:
        return None
    facts = data_facts(task, {"test": encoded}, classifier.tokenizer, classifier.max_length)
    if not len(task.training):
        del facts["parts"]["test"]["in_training"]  # nothing is known of it
    return facts | {"parts": {"training": run.facts["parts"]["training"]} | facts["parts"]}
