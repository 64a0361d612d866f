"""The files that a run reads, and their checksums."""

from __future__ import annotations

import os
from pathlib import Path

from salience.errors import InputError
from salience.files import sha256_of
from salience.training.recipe import Recipe


def data_files(recipe: Recipe) -> dict[str, Path]:
    """The files of texts and word vectors, by the options that name them. Data sets on the hub are left out."""
    named = {
        "the training data": recipe.data, "--validation": recipe.validation, "--test": recipe.test,
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
