"""What is checked of a recipe before data are read or a model is loaded."""

from __future__ import annotations

from salience.errors import InputError
from salience.mixing.choosing import choose_method
from salience.models.attention_models import attention_options
from salience.training.arguments import check_device
from salience.training.recipe import Recipe
from salience.training.techniques import check_techniques


def check_recipe(recipe: Recipe) -> None:
    """Checks what needs neither data nor model: the method, the model's options, and what this machine can do.

    Raises:
        InputError: names what is wrong.
    """
    check_device(recipe)
    method = choose_method(recipe.method, recipe.method_options)
    options = attention_options(recipe.model, recipe.model_options)
    if options is not None and recipe.pooling not in ("auto", "cls"):
        raise InputError(
            f"--pooling {recipe.pooling}: {recipe.model} has a pooling of its own; leave --pooling out, or choose the "
            "pooling by the name of the model, such as attention:mean"
        )
    if options is not None and recipe.dropout is not None:
        raise InputError(
            f"--dropout {recipe.dropout:g}: {recipe.model} has a dropout of its own; set it with --set-model dropout="
            f"{recipe.dropout:g}"
        )
    by_turns = options is not None and options.pooling == "variational"
    check_techniques(recipe, method is not None, by_turns)
