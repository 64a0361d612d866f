"""Equal budgets: how many steps each method has, so that all of them spend as much as the baseline."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import torch
from transformers import TrainerCallback

from salience.mixing.choosing import PLAIN, choose_method
from salience.mixing.method import resolved
from salience.training.batches import first_batches
from salience.training.fitting import Listeners, build_trainer, run_trainer
from salience.training.passes import passes_per_step
from salience.training.preparing import Prepared
from salience.training.recipe import Recipe
from salience.training.run import prepare_files

UNTIMED, TIMED = 3, 10  # steps before the clock starts, in which memory is allocated; steps whose median counts
Costs = dict[str, float]  # of a step of each method, in passes or in seconds


def steps_of(steps: int, cost: float, of_baseline: float) -> int:
    """The steps of a method that spends as much as the baseline: `steps` * of_baseline / cost, rounded.

    Args:
        steps: of the baseline.
        cost: of a step of the method, in any unit.
        of_baseline: of a step of the baseline, in the same unit.
    """
    return max(1, round(steps * of_baseline / cost))


def by_passes(recipes: Mapping[str, Recipe]) -> Costs:
    """The passes of each text in a step of each recipe, on average.

    The model is built once for recipes that differ in the method only. Methods that choose a head on the training rows
    choose it on those of the recipes' seed.
    """
    built: list[tuple[Recipe, Prepared]] = []

    def passes(recipe: Recipe) -> float:
        rest = replace(recipe, method=PLAIN, method_options={})
        prepared = next((each for before, each in built if before == rest), None)
        if prepared is None:
            prepared = prepare_files(recipe)[0]
            built.append((rest, prepared))
        classifier, method = prepared.classifier, choose_method(recipe.method, recipe.method_options)
        batches = first_batches(classifier.tokenizer, prepared.training)
        whole = resolved(method, classifier.model, classifier.tokenizer, batches)
        return passes_per_step(whole, recipe.clean, classifier.model)

    return mean_costs(recipes, passes)


def by_time(recipes: Mapping[str, Recipe]) -> Costs:
    """The seconds of a step of each recipe, on average, measured here and now: the median of some steps."""
    return mean_costs(recipes, seconds_per_step)


def mean_costs(recipes: Mapping[str, Recipe], cost: Callable[[Recipe], float]) -> Costs:
    """What a step of each recipe costs; it is asked once for equal recipes."""
    known: list[tuple[Recipe, float]] = []

    def once(recipe: Recipe) -> float:
        found = next((value for before, value in known if before == recipe), None)
        if found is None:
            known.append((recipe, found := cost(recipe)))
        return found

    return {name: once(recipe) for name, recipe in recipes.items()}


def seconds_per_step(recipe: Recipe) -> float:
    """The median seconds of `TIMED` training steps of a recipe, after some that do not count.

    A model that is trained by turns is timed where all of its weights are trained.
    """
    prepared = replace(prepare_files(replace(recipe, steps=UNTIMED + TIMED))[0], validation=None)
    clock = Clock()
    with TemporaryDirectory() as folder:
        run_trainer(build_trainer(prepared, Path(folder), Listeners(callbacks=[clock])))
    return median(clock.seconds[UNTIMED:])


class Clock(TrainerCallback):
    """Measures the seconds of every step, its batch on the device to the updated weights."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.begun = 0.0

    def on_step_begin(self, args, state, control, **_):
        """Called by the Trainer."""
        self.begun = moment()

    def on_step_end(self, args, state, control, **_):
        """Called by the Trainer."""
        self.seconds.append(moment() - self.begun)


def moment() -> float:
    """The time in seconds, when the device has done all that it was asked to."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()
