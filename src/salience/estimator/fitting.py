"""From an estimator's parameters, and checked texts and labels, to a trained classifier."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from salience.data.examples import Examples
from salience.data.splitting import split
from salience.data.task import Part, Task, default_share
from salience.errors import InputError, quoted
from salience.inference import TextClassifier
from salience.training.fitting import fit
from salience.training.preparing import prepare
from salience.training.procedures import Standard, Turns
from salience.training.recipe import Recipe

Rows = Sequence[int] | np.ndarray  # places of texts

logger = logging.getLogger(__name__)
NOT_OF_RECIPE = ("random_state", "procedure")


def recipe_of(parameters: Mapping[str, Any], seed: int) -> tuple[Recipe, Any]:
    """The recipe that the estimator's parameters stand for, and the method if it was given as an object.

    Raises:
        InputError: a parameter has a value that it cannot have.
    """
    settings = plain({name: value for name, value in parameters.items() if name not in NOT_OF_RECIPE})
    for name in ("method_options", "model_options"):
        settings[name] = {} if settings[name] is None else settings[name]
    method, procedure = parameters["method"], parameters["procedure"]
    if method is None or isinstance(method, str):
        settings["method"], method = method or "plain", None
    elif not callable(method):
        raise InputError(f'method={method!r}: give a name such as "ssmix", or an object such as SSMix(window=0.2)')
    else:
        if settings["method_options"]:
            raise InputError("method_options are for a method given by name; set the fields of the object instead")
        settings["method"] = type(method).__name__  # in messages; `prepare` is given the object
    if not isinstance(procedure, Standard | Turns | None):
        raise InputError(f"procedure={procedure!r}: give Standard(...) or Turns(...), or None for the defaults")
    if procedure is not None:
        settings["procedure_options"] = asdict(procedure)
    return Recipe(data="texts", seed=seed, **settings), method


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
    recipe: Recipe,
    method: Any,
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    numbers: np.ndarray,
    names: Sequence[str],
) -> TextClassifier:
    """A classifier trained on texts, or on pairs of texts. The global random generators stay as they are.

    Args:
        method: an object that is used instead of the recipe's method, or None.
        pairs: the second texts; None for single texts.
        numbers: the class of each text (N,), its place in `names`.

    Raises:
        InputError: a setting does not fit the model or the data.
    """
    kept, held = parted(numbers, recipe, names)

    def part(rows: Rows) -> Part:
        second = None if pairs is None else [pairs[row] for row in rows]
        return Part(Examples([texts[row] for row in rows], second, None, [row + 1 for row in rows]), numbers[rows])

    task = Task(list(names), None, part(kept), None if held is None else part(held), None)
    with same_generators(), TemporaryDirectory() as checkpoints:
        prepared = prepare(recipe, task, logger.info, method=method)
        return fit(prepared, Path(checkpoints)).classifier


def parted(numbers: np.ndarray, recipe: Recipe, names: Sequence[str]) -> tuple[Rows, Rows | None]:
    """The rows to train on, and those held out for validation; None if none are.

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
def same_generators() -> Iterator[None]:
    """After the `with`, the global generators are as they were before it.

    Otherwise a seed that is drawn from numpy's global generator would decide which seeds are drawn after it.
    """
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
