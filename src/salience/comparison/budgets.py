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

from salience.errors import InputError
from salience.mixing.choosing import PLAIN, choose_method
from salience.mixing.method import resolved
from salience.training.batches import first_batches
from salience.training.fitting import Listeners, build_trainer, run_trainer
from salience.training.passes import FORWARD, passes_per_step
from salience.training.preparing import Prepared
from salience.training.recipe import Recipe
from salience.training.run import prepare_files

UNTIMED, TIMED = 3, 10  # steps before the clock starts, in which memory is allocated; steps whose median counts
Costs = dict[str, float]  # of a step of each method, in passes or in seconds


def steps_of(steps: int, cost: float, of_baseline: float, least: int = 1) -> int:
    """The steps of a method that spends as much as the baseline: `steps` * of_baseline / cost, rounded.

    Args:
        steps: of the baseline.
        cost: of a step of the method, in any unit.
        of_baseline: of a step of the baseline, in the same unit.
        least: the least number of steps that the method can have: 1 in each of its stages.
    """
    return max(least, round(steps * of_baseline / cost))


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
        cost = passes_per_step(whole, recipe.clean, classifier.model)
        if prepared.unlabelled is None:
            return cost
        # For every step of the teacher there is one of the student, which reads texts without labels too.
        ratio = prepared.unlabelled.per_step(recipe, prepared.batch) / prepared.batch  # for each labelled one
        texts = ratio + (recipe.unlabelled_partners == "all")
        labelling = FORWARD * ratio if recipe.unlabelled_labels == "moving" else 0.0
        return 2 * cost + texts * passes_per_step(prepared.unlabelled.view, 0, classifier.model) + labelling

    return mean_costs(recipes, passes)


def by_time(recipes: Mapping[str, Recipe]) -> Costs:
    """The seconds of a step of each recipe, on average, measured here and now: the median of some steps."""
    return mean_costs(recipes, seconds_per_step)


def mean_costs(recipes: Mapping[str, Recipe], cost: Callable[[Recipe], float]) -> Costs:
    """What a step of each recipe costs on average: of one with a plain stage, the mean over the steps of both stages.

    Args:
        cost: what a step of a recipe without a plain stage costs; it is asked once for each method.
    """
    known: list[tuple[Recipe, float]] = []

    def once(recipe: Recipe) -> float:
        found = next((value for before, value in known if before == recipe), None)
        if found is None:
            known.append((recipe, found := cost(recipe)))
        return found

    found = {}
    for name, recipe in recipes.items():
        share, mixed = recipe.plain_share, replace(recipe, plain_share=0.0)
        plain = replace(mixed, method=PLAIN, method_options={})
        found[name] = (share * once(plain) if share else 0.0) + (1 - share) * once(mixed)
    return found


def seconds_per_step(recipe: Recipe) -> float:
    """The median seconds of `TIMED` training steps of a recipe, after some that do not count.

    A model that is trained by turns is timed where all of its weights are trained.

    Raises:
        InputError: the recipe trains with texts without labels, of which the steps of the teacher are others.
    """
    prepared = replace(prepare_files(replace(recipe, steps=UNTIMED + TIMED))[0], validation=None)
    if prepared.unlabelled is not None:
        raise InputError("--budget time cannot measure the two phases of --unlabelled: use --budget passes, or steps")
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
