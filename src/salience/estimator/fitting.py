"""From the parameters of the estimator, texts and labels to a trained classifier."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from salience.data.splitting import default_share, group_numbers, split
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError, quoted
from salience.inference import TextClassifier
from salience.training.estimated_fit import fit_with_estimate, plan_estimate
from salience.training.estimating import Estimated
from salience.training.fitting import Listeners
from salience.training.preparing import prepare
from salience.training.procedures import Standard, Turns
from salience.training.recipe import Recipe

logger = logging.getLogger(__name__)
NOT_OF_RECIPE = ("random_state", "procedure")


def recipe_of(parameters: Mapping[str, Any], seed: int) -> tuple[Recipe, Any]:
    """The recipe for the parameters of the estimator, and the method if it is given as an object, else None.

    Raises:
        InputError: a parameter has a value that is not allowed.
    """
    settings = plain({name: value for name, value in parameters.items() if name not in NOT_OF_RECIPE})
    for name in ("method_options", "model_options"):
        settings[name] = {} if settings[name] is None else settings[name]
    method, procedure = parameters["method"], parameters["procedure"]
    if method is None or isinstance(method, str):
        settings["method"], method = method, None
    elif isinstance(method, type) or not callable(method):
        raise InputError(f'method={method!r}: give a name such as "ssmix", or an object such as SSMix(window=0.2)')
    else:
        if settings["method_options"]:
            raise InputError(
                "method_options are settings of a method given by name; set the fields of the object instead"
            )
        settings["method"] = type(method).__name__  # in messages; `prepare` is given the object
    if not isinstance(procedure, Standard | Turns | None):
        raise InputError(f"procedure={procedure!r}: give Standard(...) or Turns(...), or None for the defaults")
    if procedure is not None:
        settings["procedure_options"] = asdict(procedure)
    return Recipe(data="texts", seed=seed, **settings), method


def plain(value: Any) -> Any:
    """The value with NumPy numbers and arrays as Python objects and paths as strings, also in lists and dicts."""
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
    """The seed for a `random_state` of scikit-learn: the number itself, or a number drawn from the generator.

    Args:
        random_state: None stands for NumPy's global generator.

    Raises:
        InputError: `random_state` has another type.
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
    texts: Texts,
    names: Sequence[str],
) -> tuple[TextClassifier, Estimated | None]:
    """A classifier trained on labelled texts, and its estimate. The global random generators are not changed.

    Args:
        recipe: the settings.
        method: an object that is used instead of the method of the recipe, or None.
        texts: N texts, or N pairs of texts, with labels.
        names: the names of the classes, in the order of their numbers.

    Returns:
        The classifier; and the estimate, whose texts have their places in `texts` as rows, or None if the recipe asks
        for none.

    Raises:
        InputError: a setting does not fit the model or the data.
    """
    texts = replace(texts, rows=list(range(len(texts))))
    training_rows, validation_rows = parted(texts, recipe, names)
    held_out = texts.take([] if validation_rows is None else validation_rows)
    task = Task(list(names), texts.take(training_rows), held_out)
    with restored_generators(), TemporaryDirectory() as checkpoints:
        prepared = prepare(recipe, task, logger.info, method=method)
        plan = plan_estimate(prepared, task, logger.info)
        found = fit_with_estimate(prepared, task, plan, Path(checkpoints), Listeners(logger.info), method)
        return found.fitted.classifier, found.estimated


def parted(
    texts: Texts, recipe: Recipe, names: Sequence[str]
) -> tuple[Sequence[int] | np.ndarray, Sequence[int] | np.ndarray | None]:
    """The indices of training texts and of validation texts; None if no texts are held out.

    Args:
        texts: with labels. Neither their groups nor equal texts are divided.
        recipe: the settings.
        names: the names of the classes.

    Raises:
        InputError: a class has a single text, which cannot be in both parts; or as `split`.
    """
    labels = texts.known_labels
    share = default_share(len(labels)) if recipe.validation_share is None else recipe.validation_share
    if share == 0:
        return np.arange(len(labels)), None
    if labels.ndim == 2:
        several = [tuple(names[number] for number in np.flatnonzero(row).tolist()) for row in labels]
        return split(several, share, recipe.seed, units=group_numbers(texts))
    for number, count in enumerate(np.bincount(labels)):
        if count == 1:
            raise InputError(
                f"the class {quoted(names[number])} has a single text, too few to hold some out for validation; "
                "add texts, or set validation_share=0"
            )
    return split([names[number] for number in labels], share, recipe.seed, units=group_numbers(texts))


@contextmanager
def restored_generators() -> Iterator[None]:
    """Restores the states of the global random generators at the end of the `with`.

    Otherwise training, which seeds these generators, would decide which seeds are drawn after it.
    """
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
