"""What training on unmixed texts minimises, by a recipe, and which techniques of training fit together."""

from __future__ import annotations

from salience.errors import InputError
from salience.processes import world_size
from salience.training.contrastive import Contrastive
from salience.training.objectives import Unmixed, plain
from salience.training.r_drop import RDrop
from salience.training.recipe import Recipe


def unmixed_objective(recipe: Recipe) -> Unmixed:
    """The objective of a training without a mixing method: the cross-entropy, R-Drop, or the contrastive loss."""
    if recipe.r_drop:
        return RDrop(recipe.r_drop)
    if recipe.contrastive:
        return Contrastive(recipe.contrastive, recipe.contrastive_temperature)
    return plain


def check_techniques(recipe: Recipe, mixes: bool, by_turns: bool) -> None:
    """Checks that the techniques that a recipe asks for fit together, and fit the training.

    Args:
        mixes: whether the training has a mixing method.
        by_turns: whether the model is trained by turns.

    Raises:
        InputError: names the options, and which to leave out.
    """
    given = {
        "--r-drop": bool(recipe.r_drop),
        "--contrastive": bool(recipe.contrastive),
        "--average": recipe.average != "none",
        "--freeze": recipe.freeze is not None,
    }
    asked = [option for option, is_given in given.items() if is_given]
    if by_turns and asked:
        raise InputError(f"VAT is trained by turns, which has no {asked[0]}: leave it out, or take another model")
    if recipe.r_drop and recipe.contrastive:
        raise InputError("--r-drop and --contrastive are two losses in place of the cross-entropy: leave one out")
    if mixes and recipe.r_drop:
        raise InputError("--r-drop is for training without mixing: use it with --method plain, or leave it out")
    if mixes and recipe.contrastive and not recipe.clean:
        raise InputError("--contrastive compares unmixed texts: use it with --clean above 0, or leave it out")
    if recipe.contrastive and recipe.accumulation * world_size() > 1:
        raise InputError(
            "--contrastive compares all texts of a step with each other: use it with --accumulation 1, in one process"
        )
    if not recipe.contrastive and recipe.contrastive_temperature != Recipe.contrastive_temperature:
        raise InputError("--contrastive-temperature has no effect without a weight, such as --contrastive 0.1")
