"""The texts without labels of a run, prepared for training, and what can be checked before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from salience.assignments import name_and_options
from salience.data.encoding import Encoded
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError
from salience.inference import TextClassifier
from salience.mixing import dry_run
from salience.mixing.choosing import choose_method
from salience.mixing.method import Method, resolved
from salience.processes import world_size
from salience.settings import as_option, settings_of
from salience.training.baselines import encoder_probabilities
from salience.training.batches import as_batch, first_batches
from salience.training.encoding import encode_part
from salience.training.recipe import Recipe

OPTION = "--unlabelled-view"


@dataclass(frozen=True)
class Unlabelled:
    """N texts without labels, and what is needed to label them.

    Args:
        texts: the N texts.
        encoded: the same, encoded for the model.
        rows: the labelled rows that the run is trained on, for the second teacher.
        view: how the texts are changed before the student reads them, with nothing left open; None for not at all.
    """

    texts: Texts
    encoded: Encoded
    rows: Texts
    view: Method | None

    def __len__(self) -> int:
        """The number of texts."""
        return len(self.texts)

    def per_step(self, recipe: Recipe, batch: int) -> int:
        """The number of them in a step that has so many labelled texts."""
        return min(batch * recipe.unlabelled_ratio, len(self))

    def frozen_probabilities(self, recipe: Recipe, classes: int) -> np.ndarray:
        """The labels (N, C) that logistic regression on vectors of the frozen encoder gives, in float32."""
        from salience.training.reference_runs import encoder_of_recipe

        return encoder_probabilities(self.rows, self.texts, classes, encoder_of_recipe(recipe))


def choose_view(recipe: Recipe) -> Any:
    """The mixing method that a recipe names for texts without labels; None for "plain".

    Raises:
        InputError: the method or an option of it is unknown, or a value is not valid.
    """
    name, options = name_and_options(recipe.unlabelled_view, OPTION)
    try:
        return choose_method(name, options)
    except InputError as error:
        raise InputError(f"{OPTION} {recipe.unlabelled_view}: {error}") from error


def prepare_unlabelled(
    recipe: Recipe, classifier: TextClassifier, task: Task, training: Encoded, note: Callable[[str], None]
) -> Unlabelled | None:
    """The texts without labels of a task, encoded, with the view of them resolved on the training texts and tried.

    None if there are none, or the recipe trains without them.
    """
    if not len(task.unlabelled) or not recipe.unlabelled_ratio:
        return None
    model, tokenizer = classifier.model, classifier.tokenizer
    view = resolved(choose_view(recipe), model, tokenizer, first_batches(tokenizer, training), note)
    if view is not None:
        dry_run(view, model, as_batch(tokenizer, training, 0, 2))
    encoded = encode_part(classifier, task.unlabelled, "unlabelled", note)
    return Unlabelled(task.unlabelled, encoded, task.training, view)


def check_unlabelled(recipe: Recipe, by_turns: bool) -> None:
    """Checks what needs neither data nor model.

    Args:
        by_turns: whether the model is trained by turns.

    Raises:
        InputError: the run cannot have texts without labels, the view is unknown, or an option has no effect.
    """
    choose_view(recipe)
    if recipe.unlabelled is None:
        usual = settings_of(Recipe)
        for name in [name for name in usual if name.startswith("unlabelled_")]:
            if getattr(recipe, name) != usual[name].default:
                raise InputError(f"{as_option(name)} has no effect without texts: add --unlabelled FILE")
        return
    if not recipe.unlabelled_ratio:
        return
    if by_turns:
        raise InputError(
            "VAT is trained by turns, without texts that have no labels: leave out --unlabelled, or take a model that "
            "is trained once, as attention:additive"
        )
    if recipe.plain_share:
        raise InputError("--unlabelled has two phases of its own: leave out --plain-share, and plain+ before --method")
    if recipe.unlabelled_partners == "all":
        check_partners(recipe)
    if recipe.unlabelled_labels == "moving" and recipe.accumulation > 1:
        raise InputError("--unlabelled-labels moving labels the texts of a whole step: leave out --accumulation")
    if world_size() > 1:
        raise InputError("--unlabelled trains in one process: start salience without torchrun")


def check_partners(recipe: Recipe) -> None:
    """Checks that texts without labels can be mixed with labelled ones.

    Raises:
        InputError: the view does not mix texts, or a step is made in parts.
    """
    view = choose_view(recipe)
    if not hasattr(view, "pair"):
        raise InputError(
            f"--unlabelled-partners all: {OPTION} {recipe.unlabelled_view} mixes no texts; name a method that does, "
            f"as in {OPTION} tmix"
        )
    if recipe.accumulation > 1:
        raise InputError("--unlabelled-partners all mixes the texts of a whole step: leave out --accumulation")
