"""The reference rows of a comparison: classifiers without a training of the model, in folders as other runs have."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from salience.classify import choose_device
from salience.classify.frozen_encoder import KeptEncoder
from salience.data.task import all_labelled
from salience.data.texts import Texts
from salience.errors import InputError, unknown
from salience.mixing.choosing import PLAIN
from salience.models.architectures import own_settings
from salience.models.precision import for_predictions
from salience.runs.folder import RunFolder
from salience.runs.results import about, write_results
from salience.runs.retired import RETIRED_METHODS
from salience.scores.labels import labels_of
from salience.scores.predictions import Predictions
from salience.training.baselines import (
    encoder_probabilities,
    held_out_scores,
    majority_probabilities,
    tfidf_probabilities,
)
from salience.training.callbacks import using_files
from salience.training.prepare import check_machine, silent
from salience.training.recipe import REFERENCES, Recipe
from salience.training.task import checksums, input_files, task_of

USUAL = tuple(REFERENCES)  # those that a comparison adds by itself


def references_of(text: str) -> Sequence[str]:
    """`none`, `default`, or names such as `majority,tf-idf`, as names of references."""
    if text.strip() in ("none", "default"):
        return USUAL if text.strip() == "default" else ()
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name in RETIRED_METHODS:
            raise InputError(f"the reference {name} is no longer offered: {RETIRED_METHODS[name]}")
        if name not in REFERENCES:
            raise unknown("reference", name, ["none", "default", *REFERENCES])
    return names


def is_reference(recipe: Recipe) -> bool:
    """Whether a recipe is that of a reference row."""
    return recipe.method in REFERENCES


def trained(recipe: Recipe) -> Recipe:
    """The recipe; of a reference, which has no steps, that of fine-tuning without mixing with the same settings."""
    return replace(recipe, method=PLAIN, method_options={}) if is_reference(recipe) else recipe


def make_reference(recipe: Recipe, folder: str | Path) -> None:
    """Makes a reference row and writes the folder of its run: scores, probabilities, predictions, and the recipe.

    It learns from all labelled rows that the recipe samples, the validation rows included: nothing is chosen on them.
    So it has as many labelled rows as the methods that it stands beside. "seconds" in metrics.json is its own time,
    with that of computing vectors of the encoder that an earlier run had kept.
    """
    started = time.time()
    check_machine(recipe)
    output = RunFolder(folder, resume=True, inputs=input_files(recipe))
    with output.held():
        recipe = replace(recipe, checksums=checksums(recipe))
        task = task_of(recipe, silent)
        output.open(recipe.as_mapping())
        task = replace(task, training=all_labelled(task), validation=Texts([]))
        rows = (
            task.training,
            Texts(task.test.texts, task.test.second),
            len(task.labels),
        )  # no label of a test row is seen
        saved = 0.0  # seconds, by vectors that were kept
        if recipe.method == "majority":
            probabilities = majority_probabilities(*rows)
        elif recipe.method == "tf-idf":
            probabilities = tfidf_probabilities(*rows)
        else:
            encoder = encoder_of_recipe(recipe)
            probabilities, saved = encoder_probabilities(*rows, encoder), encoder.saved
        decided = labels_of(task.test.known_labels).decisions(probabilities) if task.multi_label else None
        predictions = Predictions(probabilities, task.test.known_labels, decided)
        seconds = round(time.time() - started + saved, 6)
        counts = {"training": len(task.training), "test": len(task.test)}
        metrics = held_out_scores(task, {"test": predictions}, recipe.seed) | {"rows": counts, "seconds": seconds}
        if task.left_out:
            metrics["left_out"] = dict(task.left_out)
        with using_files(output.model):
            output.begin_model()
            metrics |= about(choose_device(recipe.device).type, torch.get_num_threads())
            write_results(output.model, recipe.as_mapping(), metrics, task.labels, (task.test, predictions))
        output.publish()


def encoder_of_recipe(recipe: Recipe) -> KeptEncoder:
    """The frozen encoder with the length, device and precision of the recipe."""
    own = own_settings(recipe.model, recipe.model_options)
    name = recipe.model if own is None else own.pretrained or "minilm"  # models over words have no encoder
    # The length that a model over words reads says nothing about another encoder.
    length = recipe.max_length if name == recipe.model else None
    return KeptEncoder(name, length, recipe.device, for_predictions(recipe.precision))
