"""`--method auto`: the methods among which a run chooses, and what can be checked before anything is trained.

How they are compared is in `salience.training.halving`, and the trainings are in `salience.training.choosing`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from salience.data.encoding import Encoded
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError, listed
from salience.inference import TextClassifier
from salience.mixing import dry_run
from salience.mixing.choosing import AUTO, choose_method
from salience.mixing.method import Method, resolved
from salience.processes import world_size
from salience.training.batches import as_batch, first_batches
from salience.training.folds import fold_numbers, obstacle, recipe_of_folds
from salience.training.halving import affordable, cost_of
from salience.training.passes import passes_per_step
from salience.training.recipe import Recipe

# The candidates with their options, in the order in which a budget admits them: the default method comes first.
METHODS: dict[str, dict[str, Any]] = {
    "senmixup": {"alpha": 1.0}, "dropmix-g": {}, "tmix": {}, "ssmix": {}, "attentionmix": {},
}  # fmt: skip
PARTS = 2  # of a division of the rows; a round predicts one of them


@dataclass(frozen=True)
class Candidates:
    """The methods among which a run chooses, and the rows to do it on.

    Args:
        methods: by name, with nothing left open.
        task: the training rows and the labels.
        seed: of the divisions of the rows.
    """

    methods: dict[str, Method]
    task: Task
    seed: int

    def part(self, number: int) -> tuple[Task, np.ndarray]:
        """The data of a round: rows to train on, and rows to predict as test rows; and the numbers of the latter.

        Each two rounds are the halves of one division.

        Args:
            number: of the round, from 0 on.
        """
        rows = self.task.training
        division, half = divmod(number, PARTS)
        inside = fold_numbers(rows, PARTS, (self.seed + division) % 2**32) == half + 1
        predicted = inside.nonzero()[0]
        return replace(self.task, training=rows.take((~inside).nonzero()[0]), test=rows.take(predicted)), predicted


def check_auto(recipe: Recipe, by_turns: bool) -> None:
    """Checks what needs neither data nor model.

    Args:
        by_turns: whether the model is trained by turns.

    Raises:
        InputError: the recipe asks for something that `--method auto` has not, or has its budget without it.
    """
    if recipe.method != AUTO:
        if recipe.auto_budget != Recipe.auto_budget:
            raise InputError(f"--auto-budget has no effect without --method {AUTO}: add it, or leave the budget out")
        return
    if by_turns:
        raise InputError(
            "VAT is trained by turns, without mixing: leave --method out, or take a model that is trained once"
        )
    if recipe.plain_share:
        raise InputError("--method auto has no plain stage: leave out --plain-share, and plain+ before auto")
    if recipe.unlabelled is not None:
        raise InputError("--method auto chooses for labelled texts only: leave --unlabelled out, or name a method")
    if world_size() > 1:
        raise InputError("--method auto compares methods in one process: start salience without torchrun")


def prepare_candidates(recipe: Recipe, classifier: TextClassifier, task: Task, training: Encoded) -> Candidates:
    """The candidates that fit the model and the budget.

    Args:
        recipe: nothing is left open in it.
        classifier: the model to train. It is not changed.
        task: the labelled texts.
        training: its training rows, encoded.

    Raises:
        InputError: the rows cannot be divided, no method fits the model, or the budget is too small for a choice.
    """
    if reason := obstacle(task.training, PARTS):
        raise InputError(f"--method auto compares methods on halves of the rows, but {reason}: name a method")
    methods = fitting_methods(classifier, training)
    rows, classes = len(task.training), len(task.labels)  # the default steps follow from labelled rows alone
    halves = recipe_of_folds(recipe, rows, classes).resolved(rows // PARTS, classes, None)
    assert halves.steps is not None and recipe.steps is not None
    plain, *others = (passes_per_step(method, recipe.clean, classifier.model) for method in (None, *methods.values()))
    look = halves.steps / recipe.steps  # at plain training, in passes of the plain training of the run
    costs = [look * other / plain for other in others]
    count = affordable(costs, look, recipe.auto_budget)
    if not count:
        raise InputError(
            f"--auto-budget {recipe.auto_budget:g} is too small for a choice between two methods, which takes "
            f"{cost_of(costs[:1], look):.1f} times the passes of the training: allow more, or name a method"
        )
    rest = replace(task, validation=Texts([]), test=Texts([]))
    return Candidates(dict(list(methods.items())[:count]), rest, recipe.seed)


def fitting_methods(classifier: TextClassifier, training: Encoded) -> dict[str, Method]:
    """Those of `METHODS` that the model admits, by name, with nothing left open.

    Raises:
        InputError: none of them.
    """
    model, tokenizer = classifier.model, classifier.tokenizer
    found, reasons = {}, []
    for name, options in METHODS.items():
        method = resolved(choose_method(name, options), model, tokenizer, first_batches(tokenizer, training))
        try:
            dry_run(method, model, as_batch(tokenizer, training, 0, 2))
        except InputError as error:
            reasons.append(str(error))
        else:
            found[name] = method
    if not found:
        raise InputError(f"--method auto has no method for this model: {listed(reasons)}; use --method plain")
    return found
