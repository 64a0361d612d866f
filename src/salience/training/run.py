"""One run: from files of labelled texts to a trained and evaluated classifier in a folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import PartialState
from transformers import TrainerCallback

from salience.classify import TextClassifier
from salience.data.task import Task
from salience.files import write_json, write_whole
from salience.models.architectures import MODEL_TYPES
from salience.processes import is_main_process
from salience.runs.card import model_card
from salience.runs.folder import FACTS, HISTORY, RunFolder, kept_precision
from salience.runs.results import about, data_facts, judge_of, write_results
from salience.scores.label_metrics import each_label
from salience.scores.predictions import Predictions
from salience.training.baselines import held_out_scores
from salience.training.callbacks import Tracking, check_trackers, using_files
from salience.training.estimate import (
    EstimatedFit,
    EstimatePlan,
    decided_scores,
    fit_with_estimate,
    plan_estimate,
)
from salience.training.fit import Listeners
from salience.training.measures import Measure, Measures, measures_named
from salience.training.passes import text_passes
from salience.training.prepare import Prepared, check_recipe, prepare, silent
from salience.training.recipe import Recipe
from salience.training.task import check_measures, checksums, input_files, task_of


def held_out(classifier: TextClassifier, prepared: Prepared, task: Task) -> dict[str, Predictions]:
    """What a trained classifier says of the parts "validation" and "test", of those that there are."""
    found = {}
    for role, texts in (("validation", task.validation), ("test", task.test)):
        if role in prepared.parts:
            probabilities = classifier.probabilities(prepared.parts[role])
            decided = classifier.decisions(probabilities) if classifier.multi_label else None
            found[role] = Predictions(probabilities, texts.known_labels, decided)
    return found


def run_metrics(
    prepared: Prepared, task: Task, found: EstimatedFit, predictions: Mapping[str, Predictions], seconds: float
) -> dict[str, Any]:
    """The metrics of a run, without the measures beside its scores.

    Args:
        found: the trained classifier and its estimate.
        predictions: of the held-out parts.
        seconds: since the run began.
    """
    fitted, estimated = found.fitted, found.estimated
    metrics: dict[str, Any] = held_out_scores(task, predictions, prepared.recipe.seed) | {
        "rows": {role: rows.texts for role, rows in prepared.parts.items()} | {"training": prepared.rows},
        "steps": fitted.steps,
        "best_step": fitted.best_step,
        "text_passes": text_passes(prepared, fitted),
        "seconds": round(seconds, 1),
    }
    if fitted.iterations:
        metrics["iterations"] = fitted.iterations
    if estimated is not None:
        metrics["estimate"] = estimated.metrics
    if found.abstention is not None:
        metrics["abstention"] = dict(found.abstention.found)
        if "test" in predictions:
            metrics["abstention"]["test"] = decided_scores(
                predictions["test"].probabilities, predictions["test"].labels, found.abstention.thresholds, task.labels
            )
    if task.multi_label:
        judge, judged = judge_of(metrics), None
        if judge == "estimate" and estimated is not None and estimated.decided is not None:
            judged = estimated.predictions
        elif judge is not None and judge != "estimate":
            judged = predictions[judge]
        metrics["labels"] = (
            {} if judged is None
            else each_label(
                judged.probabilities, judged.labels, judged.decisions, task.labels, fitted.classifier.thresholds
            )
        )  # fmt: skip
    return metrics


@dataclass(frozen=True)
class Run:
    """A finished run.

    Attributes:
        folder: the folder of the run.
        recipe: all settings; nothing is left open.
        task: the labelled texts.
        metrics: as in metrics.json; empty in all processes but the main one.
        classifier: the trained model with its tokenizer.
        probabilities: of the test rows (N, C); None if there are no test rows, and in all processes but the main one.
    """

    folder: Path
    recipe: Recipe
    task: Task
    metrics: dict
    classifier: TextClassifier
    probabilities: np.ndarray | None


def train(
    recipe: Recipe,
    output: str | Path,
    overwrite: bool = False,
    resume: bool = False,
    note: Callable[[str], None] = print,
    callbacks: Sequence[TrainerCallback] = (),
    config: Path | None = None,
    keep_model: bool = True,
    report_to: Sequence[str] = (),
    measures: Measures = (),
    estimating: bool = True,
    written: Callable[[Path, str, TextClassifier], None] = Listeners.written,
) -> Run:
    """Trains a classifier by a recipe and writes the folder of the run.

    Args:
        recipe: the settings.
        output: the folder to write. It is created in one step when the run is done.
        overwrite: whether an earlier run there is replaced.
        resume: whether an interrupted run of the same recipe is resumed. It ends with the same weights as without the
            interruption.
        note: called with a line of text for every choice, warning and result.
        callbacks: callbacks of the Trainer, added to its defaults.
        config: the file from which the recipe was read; it must not be inside `output`.
        keep_model: whether to write the model, its tokenizer and its card, besides metrics, predictions and recipe.
        report_to: trackers of experiments that follow the run: "tensorboard", "mlflow", "wandb", "trackio"; see
            `salience.training.callbacks.Tracking`.
        measures: what is measured beside the scores if there are test rows: names of
            `salience.training.measures.MEASURES`, or such names with measures of other settings.
        estimating: whether the recipe's estimate is made, see `salience.training.estimate`. If not, none is.
        written: adds files to the folder before it gets its name, see `Listeners`.

    Raises:
        InputError: the data, the model, the recipe or a measure does not fit, or another process writes the same
            output. Nothing has been written then.
    """
    started = time.time()
    check_trackers(report_to)
    check_recipe(recipe)
    wanted = measures_named(measures)
    main = is_main_process()
    inputs = input_files(recipe) | ({} if config is None else {"--config": config})
    folder = RunFolder(output, overwrite, resume, inputs)
    if resume and recipe.precision == "auto":
        recipe = replace(recipe, precision=kept_precision(folder.output) or "auto")
    listeners = Listeners(
        note if main else silent, callbacks, tracking=Tracking(tuple(report_to), folder.output), written=written
    )
    with folder.held() if main else nullcontext():
        prepared, task = prepare_files(recipe, listeners.note)
        check_measures(wanted, task.multi_label)
        plan = plan_estimate(prepared, task, listeners.note) if estimating else None
        return fit_and_save(prepared, task, plan, folder, started, listeners, keep_model, wanted)


def prepare_files(recipe: Recipe, note: Callable[[str], None] = silent) -> tuple[Prepared, Task]:
    """Reads the files that the recipe names and prepares the run.

    Raises:
        InputError: the data, the model or the recipe does not fit, or a file has changed since the recipe was written.
    """
    recipe = replace(recipe, checksums=checksums(recipe))
    task = task_of(recipe, note)
    return prepare(recipe, task, note), task


def fit_and_save(
    prepared: Prepared, task: Task, plan: EstimatePlan | None, folder: RunFolder, started: float,
    listeners: Listeners, keep_model: bool, measures: Mapping[str, Measure],
) -> Run:  # fmt: skip
    """Trains, evaluates, writes the files of the run and moves them to the output.

    Args:
        plan: the estimate that is made first; None makes none.
        started: time at which the run began, in seconds since the epoch.
        measures: what is measured beside the scores, by name. "seconds" does not count that.
    """
    recipe, main = prepared.recipe, is_main_process()
    if main:
        folder.open(recipe.as_mapping())
    PartialState().wait_for_everyone()  # the main process has prepared the folder
    found = fit_with_estimate(prepared, task, plan, folder.checkpoints, listeners)
    classifier = found.fitted.classifier
    if not main:
        PartialState().wait_for_everyone()
        return Run(folder.output, recipe, task, {}, classifier, None)
    predictions = held_out(classifier, prepared, task)
    metrics = run_metrics(prepared, task, found, predictions, time.time() - started)
    if len(task.test):
        metrics |= {name: each(classifier, task, recipe.seed) for name, each in measures.items()}
    judged = None
    if part := metrics.get("judged_on"):
        judged = task.test if part == "test" else task.validation, predictions[part]
    estimated = None if found.estimated is None else (found.estimated.texts, found.estimated.predictions)
    made_with = about(classifier.model.device.type, torch.get_num_threads())
    with using_files(folder.model):
        write_results(folder.model, recipe.as_mapping(), metrics | made_with, task.labels, judged, estimated)
        if keep_model:
            facts = data_facts(task, prepared.parts, classifier.tokenizer, classifier.max_length)
            write_model(folder.model, classifier, recipe.model)
            write_json(folder.model / HISTORY, found.fitted.history)
            write_json(folder.model / FACTS, facts)
            ours = classifier.model.config.model_type in MODEL_TYPES
            card = model_card(recipe.as_mapping(), task.labels, metrics, made_with, ours, facts=facts)
            write_whole(folder.model / "README.md", card)
    listeners.written(folder.model, folder.output.name, classifier)
    folder.publish()
    PartialState().wait_for_everyone()
    probabilities = predictions["test"].probabilities if "test" in predictions else None
    return Run(folder.output, recipe, task, metrics, classifier, probabilities)


def write_model(folder: Path, classifier: TextClassifier, name: str) -> None:
    """Writes a checkpoint of Hugging Face, which transformers loads without salience, except attention classifiers.

    Args:
        name: under which the model was loaded: its configuration has it, without the path on this machine.
    """
    classifier.model.config._name_or_path = name
    classifier.model.base_model.config._name_or_path = name
    classifier.model.save_pretrained(folder)
    classifier.tokenizer.save_pretrained(folder)
