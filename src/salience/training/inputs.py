"""The files that a run reads, and their checksums."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from salience.data.label_noise import with_wrong_training_labels
from salience.data.splitting import contradictions
from salience.data.task import Task, all_labelled
from salience.errors import InputError
from salience.files import sha256_of
from salience.training.multi_label import check_multi_label
from salience.training.recipe import Recipe
from salience.training.task_files import read_task


def task_of(recipe: Recipe, note: Callable[[str], None]) -> Task:
    """The labelled texts that a recipe names, with its wrong labels.

    Args:
        note: called with each guess and each warning.

    Raises:
        InputError: the data are at fault; names file and row.
    """
    task = read_task(recipe, note)
    note_contradictions(recipe, task, note)
    check_multi_label(recipe, task)  # `prepare` does so again, but labels are replaced before it
    if not recipe.label_noise:
        return task
    noisy = with_wrong_training_labels(task, recipe.label_noise, recipe.seed)
    parts = [(noisy.training, task.training), (noisy.validation, task.validation)]
    differ = [new.known_labels != old.known_labels for new, old in parts if len(old)]
    wrong, rows = sum(int(each.sum()) for each in differ), sum(map(len, differ))
    found = f"{wrong:,} of the {rows:,} training and validation rows have a wrong label"
    if task.multi_label:
        found = (
            f"{wrong:,} of the {sum(each.size for each in differ):,} decisions about labels of the {rows:,} training "
            "and validation rows are wrong"
        )
    note(f"label noise: {found}; test rows have none")
    return noisy


def note_contradictions(recipe: Recipe, task: Task, note: Callable[[str], None]) -> None:
    """Notes how many rows of the training data have a text, or a pair, that other rows have with another label."""
    count = contradictions(task.training if recipe.validation else all_labelled(task))
    if count:  # two at least
        note(f"{recipe.data}: {count:,} rows have a text that also has another label; `salience audit` lists them")


def data_files(recipe: Recipe) -> dict[str, Path]:
    """The files of texts and word vectors, by the options that name them. Data sets on the hub are left out."""
    named = {
        "the training data": recipe.data, "--validation": recipe.validation, "--test": recipe.test,
        "--label-descriptions": recipe.label_descriptions,
        "--embeddings": recipe.model_options.get("embeddings"),
    }  # fmt: skip
    return {option: Path(name) for option, name in named.items() if isinstance(name, str) and os.path.isfile(name)}


def input_files(recipe: Recipe) -> dict[str, Path]:
    """The data files and the folders of the model and its encoder, by the options that name them."""
    folders = {"--model": recipe.model, "--encoder": recipe.model_options.get("encoder")}
    return data_files(recipe) | {
        option: Path(name) for option, name in folders.items() if isinstance(name, str) and os.path.isdir(name)
    }


def checksums(recipe: Recipe) -> dict[str, str]:
    """The SHA-256 of every data file, by its name in the recipe.

    Raises:
        InputError: a file has changed since the recipe was written.
    """
    sums = {str(file): sha256_of(file) for file in data_files(recipe).values()}
    for file, expected in recipe.checksums.items():
        if sums.get(file, expected) != expected:
            raise InputError(
                f"{file} has changed since the recipe was written (its SHA-256 differs): restore the earlier "
                "file, or remove its line from the recipe's checksums to train on the file as it is"
            )
    return sums
