"""The main job: labelled texts in, a trained, saved, checked classifier out. One run, from settings to folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from accelerate import PartialState
from transformers import PreTrainedModel, TrainerCallback, set_seed

from salience.batch import Batch
from salience.data.batching import Collator
from salience.data.encoding import Encoded, encode_texts
from salience.data.labels import class_weights
from salience.data.task import Part, Task, read_task
from salience.inference.probabilities import predict_probabilities
from salience.mixing import dry_run
from salience.mixing.choosing import choose_method
from salience.models.attention_models import attention_options, build_attention_classifier
from salience.models.loading import load_classifier, longest_text
from salience.processes import is_main_process
from salience.training.alignment import check_alignment
from salience.training.arguments import check_device
from salience.training.checkpoints import using_files
from salience.training.fitting import build_trainer, width_of
from salience.training.folder import RunFolder
from salience.training.inputs import checksums, input_files
from salience.training.recipe import Recipe
from salience.training.results import measure, write_results
from salience.training.turns import check_turns, fit_model

LOOK = 256  # training rows on which a method that leaves something open chooses it


@dataclass(frozen=True)
class Prepared:
    """All that a run needs, read and checked, before anything is trained or written."""

    recipe: Recipe  # nothing is left open in it
    task: Task
    model: PreTrainedModel
    tokenizer: object
    longest: int  # tokens read of a text
    method: Callable | None
    encoded: dict[str, Encoded]  # "training", and "validation" and "test" where there are such rows
    class_weights: list[float] | None


@dataclass(frozen=True)
class Run:
    """A finished run: where it lies, and what it was checked on."""

    folder: Path
    recipe: Recipe
    task: Task
    metrics: dict
    model: PreTrainedModel
    tokenizer: object
    probabilities: np.ndarray | None  # (N, C) for the test rows


def train(
    recipe: Recipe,
    output: str | Path,
    overwrite: bool = False,
    resume: bool = False,
    note: Callable[[str], None] = print,
    callbacks: Sequence[TrainerCallback] = (),
    config: Path | None = None,
    keep_model: bool = True,
) -> Run:
    """Trains as the recipe says and writes the run folder.

    Args:
        output: the folder to write; it appears when the run is done, whole or not at all.
        resume: go on from where an interrupted run of the same recipe stopped, to the same weights.
        note: told guesses, warnings and results, a line each.
        config: the file that the recipe was read from, which is not to be overwritten.
        keep_model: write the model, its tokenizer and its card too, not only scores, predictions and recipe.

    Raises:
        InputError: the data, the model or the recipe is at fault, or another process works on the same output;
            nothing has been written then.
    """
    started = time.time()
    check_device(recipe)
    main = is_main_process()
    inputs = input_files(recipe) | ({} if config is None else {"--config": config})
    folder = RunFolder(output, overwrite, resume, inputs)
    with folder.held() if main else nullcontext():
        prepared = prepare(recipe, note if main else silent)
        return carry_out(prepared, folder, started, note if main else silent, callbacks, keep_model)


def prepare(recipe: Recipe, note: Callable[[str], None] = print) -> Prepared:
    """Reads the data, builds the model, fills in what the recipe leaves open, and checks that all of it fits.

    Raises:
        InputError: the data, the model or the recipe is at fault.
    """
    method = choose_method(recipe.method, recipe.method_options)
    options = attention_options(recipe.model, recipe.model_options)
    recipe = replace(recipe, checksums=checksums(recipe))
    task = read_task(
        recipe.data, recipe.test, recipe.validation, recipe.validation_share, recipe.seed, recipe.encoding,
        recipe.bad_rows, note, text=recipe.text, text_pair=recipe.text_pair, label=recipe.label,
    )  # fmt: skip
    weights = class_weights(recipe.class_weights, [task.names[number] for number in task.train.labels], task.names)
    set_seed(recipe.seed)  # the fresh head, then everything that is drawn
    model, tokenizer = (
        load_classifier(recipe.model, task.names)
        if options is None
        else build_attention_classifier(options, task.names, all_texts(task.train), note)
    )
    longest = tokenizer.model_max_length = longest_text(model, tokenizer, recipe.max_length)  # saved with it
    encoded = {
        role: encode_part(tokenizer, part, longest, role, note)
        for role, part in [("training", task.train), ("validation", task.validation), ("test", task.test)]
        if part is not None
    }
    columns = task.columns
    recipe = replace(recipe, text=columns.text, text_pair=columns.text_pair, label=columns.label, max_length=longest)
    recipe = recipe.resolved(len(task.train), len(task.names), width_of(model))
    note(
        f"recipe: {recipe.method} on {recipe.model}, {recipe.steps} steps of {recipe.batch_size} texts, "
        f"learning rate {recipe.learning_rate:.2g}, seed {recipe.seed}"
    )

    looks = (as_batch(tokenizer, encoded["training"], start) for start in range(0, min(LOOK, len(task.train)), 32))
    if method is not None:
        method = method.resolve(model, tokenizer, looks, note)
        dry_run(method, model, as_batch(tokenizer, encoded["training"], 0, 2))
    check_alignment(recipe, model)
    check_turns(recipe, model)
    return Prepared(recipe, task, model, tokenizer, longest, method, encoded, weights)


def carry_out(
    prepared: Prepared,
    folder: RunFolder,
    started: float,
    note: Callable[[str], None],
    callbacks: Sequence[TrainerCallback],
    keep_model: bool,
) -> Run:
    """Trains, measures, and publishes the folder."""
    recipe, task, tokenizer, encoded = prepared.recipe, prepared.task, prepared.tokenizer, prepared.encoded
    main = is_main_process()
    if main:
        folder.open(recipe.as_mapping())
    PartialState().wait_for_everyone()  # the main process has prepared the folder
    build = partial(
        build_trainer, model=prepared.model, tokenizer=tokenizer, method=prepared.method,
        training=encoded["training"], validation=encoded.get("validation"), class_weights=prepared.class_weights,
        callbacks=callbacks,
    )  # fmt: skip
    model, state, iterations = fit_model(recipe, build, folder.checkpoints, note=note)
    if main:
        probabilities = {role: predict_probabilities(model, encoded[role]) for role in encoded if role != "training"}
        metrics = measure(task, probabilities) | {
            "rows": {role: len(rows) for role, rows in encoded.items()},
            "steps": state.global_step,
            "best_step": state.best_global_step,
            "seconds": round(time.time() - started, 1),
        }
        if iterations:
            metrics["iterations"] = iterations
        with using_files(folder.model):
            write_results(folder.model, model, tokenizer, recipe, task, metrics, probabilities, keep_model)
        folder.publish()
    PartialState().wait_for_everyone()
    if not main:
        return Run(folder.output, recipe, task, {}, model, tokenizer, None)
    return Run(folder.output, recipe, task, metrics, model, tokenizer, probabilities.get("test"))


def silent(line: str) -> None:
    """Hears a note and says nothing."""


def all_texts(part: Part) -> list[str]:
    """Texts, and the second texts of pairs: what a vocabulary is taken from."""
    return [*part.examples.texts, *(part.examples.pairs or [])]


def as_batch(tokenizer, encoded: Encoded, start: int, size: int = 32) -> Batch:
    """Rows from `start` on as a batch, on the CPU."""
    return Batch(**Collator.of(tokenizer)([encoded[row] for row in range(start, min(start + size, len(encoded)))]))


def encode_part(tokenizer, part: Part, longest: int, role: str, note: Callable[[str], None]) -> Encoded:
    examples = part.examples
    encoded = encode_texts(tokenizer, examples.texts, examples.pairs, part.labels.tolist(), longest)
    if encoded.cut:
        share = encoded.cut / len(encoded)
        note(f"{share:.1%} of the {role} texts are longer than the {longest} tokens read of each; the rest is cut off")
    return encoded
