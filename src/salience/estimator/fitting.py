"""From an estimator's parameters, and checked texts and labels, to a trained model."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state
from transformers import set_seed

from salience.data.encoding import encode_texts
from salience.data.labels import class_weights
from salience.data.splitting import split
from salience.data.task import default_share
from salience.errors import InputError, quoted
from salience.mixing.choosing import choose_method
from salience.models.attention_models import attention_options, build_attention_classifier
from salience.models.loading import load_classifier, longest_text
from salience.training.alignment import check_alignment
from salience.training.arguments import check_device
from salience.training.fitting import build_trainer, width_of
from salience.training.recipe import Recipe
from salience.training.turns import check_turns, fit_model

logger = logging.getLogger(__name__)


def recipe_of(parameters: Mapping[str, Any], seed: int) -> Recipe:
    """The recipe that the estimator's parameters stand for.

    Raises:
        InputError: a parameter has a value that it cannot have.
    """
    settings = plain({name: value for name, value in parameters.items() if name != "random_state"})
    for name in ("method_options", "model_options"):
        settings[name] = {} if settings[name] is None else settings[name]
    return Recipe(data="texts", seed=seed, **settings)


def plain(value: Any) -> Any:
    """The value with numpy's numbers and arrays as Python's, and paths as strings, in lists and dicts too."""
    if isinstance(value, np.floating):
        return float(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {plain(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return (list if isinstance(value, list) else tuple)(plain(entry) for entry in value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def seed_from(random_state: int | np.random.RandomState | None) -> int:
    """The seed itself, or one that is drawn, as scikit-learn does: from numpy's global generator where it is None.

    Raises:
        InputError: `random_state` is something else.
    """
    if isinstance(random_state, Integral):
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise InputError(
            f"random_state={random_state!r}: give a whole number, a numpy.random.RandomState, or None"
        ) from error


def train(
    recipe: Recipe, texts: Sequence[str], pairs: Sequence[str] | None, numbers: np.ndarray, names: Sequence[str]
) -> tuple[object, object]:
    """A model trained on texts, or pairs of texts, and its tokenizer. The global random generators stay as they are.

    The tokenizer's `model_max_length` is how many tokens of a text are read, so that every reader of the saved folder
    cuts alike.

    Args:
        numbers: the class of each text (N,), its place in `names`.

    Raises:
        InputError: a setting does not fit the model or the data.
    """
    check_device(recipe)
    method = choose_method(recipe.method, recipe.method_options)
    options = attention_options(recipe.model, recipe.model_options)
    kept, held = parted(numbers, recipe, names)
    weights = class_weights(recipe.class_weights, [names[number] for number in numbers[kept]], names)
    with seeded(recipe.seed), TemporaryDirectory() as checkpoints:
        model, tokenizer = (
            load_classifier(recipe.model, names)
            if options is None
            else build_attention_classifier(
                options, names, [part[row] for part in (texts, pairs or []) if part for row in kept], logger.info
            )
        )
        longest = tokenizer.model_max_length = longest_text(model, tokenizer, recipe.max_length)
        encoded = encode_texts(tokenizer, texts, pairs, numbers.tolist(), longest)
        check_alignment(recipe, model)
        check_turns(recipe, model)
        recipe = recipe.resolved(len(kept), len(names), width_of(model))
        build = partial(
            build_trainer, model=model, tokenizer=tokenizer, method=method, training=encoded.take(kept),
            validation=None if held is None else encoded.take(held), class_weights=weights,
        )  # fmt: skip
        model, *_ = fit_model(recipe, build, Path(checkpoints))
    return model, tokenizer


def parted(numbers: np.ndarray, recipe: Recipe, names: Sequence[str]) -> tuple[Sequence[int], Sequence[int] | None]:
    """The rows to train on, and those held out for validation if any are.

    Raises:
        InputError: a class has a single text, which cannot be on both sides.
    """
    share = default_share(len(numbers)) if recipe.validation_share is None else recipe.validation_share
    if share == 0:
        return np.arange(len(numbers)), None
    for number, count in enumerate(np.bincount(numbers)):
        if count == 1:
            raise InputError(
                f"the class {quoted(names[number])} has a single text, too few to hold some out for validation; "
                "add texts, or set validation_share=0"
            )
    return split([names[number] for number in numbers], share, recipe.seed)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Inside the `with`, the global generators start from `seed`; after it, they are as they were before.

    Otherwise a seed that is drawn from numpy's global generator would decide which seeds are drawn after it.
    """
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        set_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
