"""One run: from files of labelled texts to a trained and evaluated classifier in a folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from transformers import TrainerCallback

from salience._version import __version__
from salience.classify import TextClassifier
from salience.classify.familiarity import Familiarity
from salience.data.splitting import group_numbers, stripped
from salience.data.task import Task, all_labelled
from salience.errors import InputError, duration
from salience.files import input_first, write_json, write_lines, write_whole
from salience.models.architectures import library_of
from salience.processes import is_main_process
from salience.runs.card import model_card
from salience.runs.folder import (
    CORRECTED,
    FACTS,
    FAMILIARITY,
    HISTORY,
    RunFolder,
    kept_precision,
    kept_recipe,
    optional,
)
from salience.runs.results import Run, about, corrected_rows, data_facts, history_of, read_run, write_results
from salience.runs.sentences import judge_of
from salience.scores.held_out import decided_scores
from salience.scores.metrics import each_label
from salience.scores.predictions import Predictions
from salience.training.baselines import held_out_scores
from salience.training.callbacks import Tracking, check_trackers, using_files
from salience.training.estimate import Estimated, Folds, fit_with_estimate, plan_estimate
from salience.training.fit import Fitted, Listeners
from salience.training.measures import Measures, measures_named
from salience.training.pace import CUT, measured
from salience.training.passes import text_passes
from salience.training.prepare import Prepared, checked, silent, with_initial_head
from salience.training.recipe import Recipe
from salience.training.task import check_input, check_measures, checksums, input_files, task_of


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
    planned: Callable[[int], None] = lambda steps: None,
    timed: bool = False,
    time_limit: float | None = None,
    written: Callable[[Path, str, TextClassifier], None] = lambda folder, name, classifier: None,
) -> Run:
    """Trains a classifier by a recipe and writes the folder of the run.

    Args:
        output: the folder to write. It is created in one step when the run is done.
        overwrite: whether an earlier run there is replaced.
        resume: whether an interrupted run of the same recipe is resumed. It ends with the same weights as without the
            interruption.
        note: called with a line of text for every choice, warning and result.
        callbacks: callbacks of the Trainer, added to its defaults.
        config: the file from which the recipe was read; it must not be inside `output`.
        keep_model: whether to write the model, its tokenizer and its card, besides metrics, predictions and recipe.
        report_to: trackers of experiments that follow the run, see `salience.training.callbacks.Tracking`.
        measures: what is measured beside the scores if there are test rows, as of
            `salience.training.measures.measures_named`. "seconds" in metrics.json does not count that.
        estimating: whether the recipe's estimate is made, see `salience.training.estimate`.
        planned: called with the number of steps of the run and its estimate together, before the first step.
        timed: whether a trial step is made, so that `note` is told about how long the run takes.
        time_limit: seconds, into which the plan is cut before anything is trained: the estimate's folds first, then
            steps. What is cut is written to recipe.yaml.
        written: called with the folder of the finished run, the name that it is about to get, and the classifier, to
            add further files. An `OSError` ends the run, which can be resumed.

    Returns:
        The run with its task and classifier; without metrics and predictions in all processes but the main one.

    Raises:
        InputError: the data, the model, the recipe or a measure does not fit, or another process writes the same
            output. Nothing has been written then.
    """
    started = time.time()
    check_trackers(report_to)
    wanted = measures_named(measures)
    main = is_main_process()
    inputs = input_files(recipe) | ({} if config is None else {"--config": config})
    with ExitStack() as held:
        with input_first(partial(check_input, recipe)):
            folder = RunFolder(output, overwrite, resume, inputs)
            if main:
                held.enter_context(folder.held())
        if resume:
            if recipe.precision == "auto":
                recipe = replace(recipe, precision=kept_precision(folder.output) or "auto")
            if time_limit is not None and (kept := kept_recipe(folder.output)):  # it was cut when the run began
                cut: Any = {name: kept.get(name) for name in CUT}
                recipe, time_limit = replace(recipe, **cut), None
        tracking = Tracking(tuple(report_to), folder.output)
        listeners = Listeners(note if main else silent, callbacks, tracking=tracking, planned=planned)
        recipe = replace(recipe, checksums=checksums(recipe))
        task = task_of(recipe, listeners.note)
        read = time.time()
        prepared = checked(recipe, task, listeners.note)
        check_measures(wanted, task.multi_label)
        folds = plan_estimate(prepared, task, listeners.note) if estimating else None
        if timed or time_limit is not None:
            spent = time.time() - read, time.time() - started
            if changed := changes_for_time(prepared, task, folds, spent, time_limit, listeners.note):
                prepared = checked(replace(recipe, **changed), task)
                folds = plan_estimate(prepared, task, listeners.note) if estimating else None
        plan = prepared.plan.as_mapping()
        if main:
            folder.open(plan)
        PartialState().wait_for_everyone()  # the main process has prepared the folder
        prepared = with_initial_head(prepared, task)
        fitted, estimated = fit_with_estimate(prepared, task, folds, folder.checkpoints, listeners)
        classifier = fitted.classifier
        if not main:
            PartialState().wait_for_everyone()
            return Run(Path(output), plan, {}, task.labels, task=task, classifier=classifier)
        with using_files(folder.model):  # first: what fails from here on does not lose the weights
            folder.begin_model()
            if keep_model:
                write_model(folder.model, classifier, prepared.plan.model)
        predictions = {}
        for role, texts in (("validation", task.validation), ("test", task.test)):
            if role in prepared.parts:
                probabilities = classifier.probabilities(prepared.parts[role])
                decided = classifier.decisions(probabilities) if classifier.multi_label else None
                predictions[role] = Predictions(probabilities, texts.known_labels, decided)
        metrics = run_metrics(prepared, task, fitted, estimated, predictions, time.time() - started)
        if len(task.test):
            metrics |= {name: each(classifier, task, recipe.seed) for name, each in wanted.items()}
        with using_files(folder.model):
            write_run(
                folder.model, prepared, task, fitted, estimated, predictions, metrics, keep_model, listeners.note
            )
        written(folder.model, folder.output.name, classifier)
        folder.publish()
        PartialState().wait_for_everyone()
    return replace(read_run(folder.output), folder=Path(output), task=task, classifier=classifier)


def checked_files(recipe: Recipe, note: Callable[[str], None] = silent) -> tuple[Prepared, Task]:
    """Reads the files that the recipe names and checks the run."""
    recipe = replace(recipe, checksums=checksums(recipe))
    task = task_of(recipe, note)
    return checked(recipe, task, note), task


def changes_for_time(
    prepared: Prepared, task: Task, folds: Folds | None, spent: tuple[float, float], limit: float | None,
    note: Callable[[str], None],
) -> dict[str, Any]:  # fmt: skip
    """Notes about how long a run takes; the settings that it has to change for a limit of time, the same everywhere.

    Args:
        spent: seconds that the checks took, and that all took up to now.
        limit: seconds for the whole run, with those; None for no limit.
    """
    checking, until_now = spent
    pace, until_now = broadcast_object_list([measured(prepared, checking), until_now])  # what all of them decide by
    if pace is None:
        if limit is not None:
            raise InputError("--time-limit is not for a model that is trained by turns: set --steps")
        return {}
    changed: dict[str, Any] = {}
    if limit is not None:
        changed = pace.within(limit - until_now, prepared, task, folds)
    if changed:
        shown = ", ".join(f"{name}={changed[name]}" for name in CUT if name in changed)
        note(f"to end within {limit:g} s: {shown}")
    else:
        note(f"this takes about {duration(pace.seconds(prepared, task, folds))}")
    return changed


def run_metrics(
    prepared: Prepared, task: Task, fitted: Fitted, estimated: Estimated | None,
    predictions: Mapping[str, Predictions], seconds: float,
) -> dict[str, Any]:  # fmt: skip
    """The metrics of a run, without the measures beside its scores."""
    metrics: dict[str, Any] = held_out_scores(task, predictions, prepared.plan.seed) | {
        "rows": {role: rows.texts for role, rows in prepared.parts.items()} | {"training": len(task.training)},
        "steps": fitted.steps,
        "best_step": fitted.state.best_global_step,
        "text_passes": text_passes(prepared, fitted),
        "seconds": round(seconds, 1),
    }
    if task.left_out:
        metrics["left_out"] = dict(task.left_out)
    if fitted.iterations:
        metrics["iterations"] = fitted.iterations
    of_parts = dict(predictions)
    if estimated is not None:
        of_parts["estimate"] = estimated.predictions
        metrics["estimate"] = estimated.metrics
        if estimated.abstention is not None:
            metrics["abstention"] = found = dict(estimated.abstention)
            if (test := predictions.get("test")) is not None:
                thresholds = np.array([found["thresholds"][label] for label in task.labels])
                found["test"] = decided_scores(test.probabilities, test.labels, thresholds)
    if task.multi_label:
        judged = of_parts.get(judge_of(metrics) or "")
        metrics["labels"] = {} if judged is None else each_label(
            judged.probabilities, judged.labels, judged.decisions, task.labels, fitted.classifier.thresholds
        )  # fmt: skip
    return metrics


def write_model(folder: Path, classifier: TextClassifier, name: str) -> None:
    """Writes a checkpoint that transformers loads, and its tokenizer."""
    # The configuration has the name under which the model was loaded, without the path on this machine.
    classifier.model.config._name_or_path = name
    classifier.model.base_model.config._name_or_path = name
    classifier.model.save_pretrained(folder)
    classifier.tokenizer.save_pretrained(folder)


def write_run(
    folder: Path, prepared: Prepared, task: Task, fitted: Fitted, estimated: Estimated | None,
    predictions: Mapping[str, Predictions], metrics: dict[str, Any], keep_model: bool, note: Callable[[str], None],
) -> None:  # fmt: skip
    """Writes the files of a run beside its model, and if that is kept, its card. `note` is told what is missing."""
    recipe, classifier, judged = prepared.plan.as_mapping(), fitted.classifier, None
    if part := metrics.get("judged_on"):
        judged = task.test if part == "test" else task.validation, predictions[part]
    of_estimate = None if estimated is None else (estimated.texts, estimated.predictions)
    made_with: dict[str, dict[str, Any]] = {"versions": {"salience": __version__}}
    with optional("the list of versions in metrics.json", note):
        made_with = about(classifier.model.device.type, torch.get_num_threads())
    write_results(folder, recipe, metrics | made_with, task.labels, judged, of_estimate)
    if not keep_model:
        return
    facts = None
    with optional(HISTORY, note):
        write_json(folder / HISTORY, history_of(fitted.state.log_history))
    with optional(FACTS, note):
        facts = data_facts(task, prepared.parts, classifier.tokenizer, classifier.max_length)
        write_json(folder / FACTS, facts)
    if task.before:
        with optional(CORRECTED, note):
            write_lines(folder / CORRECTED, corrected_in(prepared, task, classifier, estimated))
    with optional(FAMILIARITY, note):
        familiarity = Familiarity.of(classifier, prepared.training, group_numbers(task.training))
        if familiarity is not None:
            familiarity.write(folder)
    with optional("its card, README.md,", note):
        library = library_of(classifier.model.config)
        write_whole(folder / "README.md", model_card(recipe, task.labels, metrics, made_with, library, facts=facts))


def corrected_in(
    prepared: Prepared, task: Task, classifier: TextClassifier, estimated: Estimated | None
) -> list[dict[str, Any]]:
    """The corrected rows as the estimate predicts them; where it has none of them, as the classifier does itself."""
    if estimated is not None:
        found = corrected_rows(task.before, estimated.texts, estimated.predictions, task.labels)
        if found:
            return found
    rows = task.training if prepared.plan.validation else all_labelled(task)
    rows = rows.take([place for place, key in enumerate(stripped(rows)) if key in task.before])
    if not len(rows):  # none was drawn
        return []
    return corrected_rows(
        task.before, rows, classifier.predictions(classifier.read(rows), rows.known_labels), task.labels
    )
