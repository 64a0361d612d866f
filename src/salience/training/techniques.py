"""What training on unmixed texts minimises, by a recipe, and which techniques of training fit together."""

from __future__ import annotations

from functools import partial

from salience.errors import InputError
from salience.mixing.choosing import PLAIN
from salience.mixing.method import Method
from salience.processes import world_size
from salience.training.contrastive import Contrastive
from salience.training.default_settings import CONTRAST
from salience.training.loss import Loss
from salience.training.objectives import Objective, Unmixed, mixed, plain
from salience.training.recipe import Recipe


def unmixed_objective(recipe: Recipe) -> Unmixed:
    """The objective of a training without a mixing method: the cross-entropy, or the contrastive loss beside it."""
    if recipe.contrastive:
        return Contrastive(recipe.contrastive, recipe.contrastive_temperature)
    return plain


def whole_objective(method: Method | None, clean: float, loss: Loss, unmixed: Unmixed = plain) -> Objective:
    """The objective of a training: that on unmixed texts, or, with a method, that on them and on mixtures.

    Args:
        method: the mixing method, with nothing left open; None for none.
        clean: weight of the loss on the unmixed texts, where there are mixtures.
        loss: of logits and labels.
        unmixed: the objective of a training on unmixed texts. A contrastive one is a loss beside that of mixtures too.
    """
    if method is None:
        return partial(unmixed, loss=loss)
    return mixed(method, clean, loss, beside=unmixed if isinstance(unmixed, Contrastive) else None)


def used_contrast(recipe: Recipe) -> float:
    """The weight of the contrastive loss: as the recipe says, or by default where it can be had and was measured.

    Args:
        recipe: its pooling is not "auto".
    """
    if recipe.contrastive is not None:
        return recipe.contrastive
    fits = (recipe.clean or recipe.method == PLAIN) and recipe.accumulation * world_size() == 1
    return CONTRAST if fits and recipe.reads_mean else 0.0


def used_share(recipe: Recipe, start: str, validated: bool) -> float | None:
    """The share of the trained weights that is kept; None if the estimate of the run chooses it, if it has one.

    Args:
        start: how the head begins.
        validated: whether there are validation rows, which select trained weights.
    """
    is_open = start == "logistic" and not validated
    return 1.0 if recipe.trained_share is None and not is_open else recipe.trained_share


def check_techniques(recipe: Recipe, mixes: bool, by_turns: bool, validated: bool = False) -> None:
    """Checks that the techniques that a recipe asks for fit together, and fit the training.

    Args:
        mixes: whether the training has a mixing method.
        by_turns: whether the model is trained by turns.
        validated: whether there are validation rows.

    Raises:
        InputError: names the options, and which to leave out.
    """
    given = {
        "--contrastive": bool(recipe.contrastive),
        "--freeze": recipe.freeze is not None,
        "--trained-share": recipe.trained_share is not None and recipe.trained_share < 1,
    }
    asked = [option for option, is_given in given.items() if is_given]
    if by_turns and asked:
        raise InputError(f"VAT is trained by turns, which has no {asked[0]}: leave it out, or take another model")
    if given["--trained-share"] and validated:
        raise InputError(
            "--trained-share is for a training without validation rows, which choose trained weights: leave one out"
        )
    # A start that is left open may turn out to be a regression: what it is is checked when the model is prepared.
    if recipe.head_start == "random" and recipe.head_strength != Recipe.head_strength:
        raise InputError("--head-strength has no effect without --head-start logistic")
    if mixes and recipe.contrastive and not recipe.clean:
        raise InputError("--contrastive compares unmixed texts: use it with --clean above 0, or leave it out")
    if recipe.contrastive and recipe.accumulation * world_size() > 1:
        raise InputError(
            "--contrastive compares all texts of a step with each other: use it with --accumulation 1, in one process"
        )
    if recipe.contrastive == 0 and recipe.contrastive_temperature != Recipe.contrastive_temperature:
        raise InputError("--contrastive-temperature has no effect without a weight, such as --contrastive 0.1")
