"""The names of the reference rows of a comparison: classifiers without a training of the model.

They are declared apart from the code that makes them, which is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec

from salience.errors import InputError, unknown
from salience.mixing.choosing import PLAIN
from salience.training.recipe import Recipe

REFERENCES = {
    "majority": "the shares of the classes in the labelled rows",
    "tf-idf": "logistic regression on TF-IDF features of words and word pairs",
    "frozen": "logistic regression on the mean vectors of the frozen encoder",
    "setfit": "SetFit, by the package setfit",
    "setfit-equal": "SetFit with as many passes of texts as the default recipe has",
}
USUAL = ("majority", "tf-idf", "frozen")  # those that a comparison adds by itself


def references_of(text: str) -> Sequence[str]:
    """`none`, `default`, or names such as `majority,setfit`, as names.

    Raises:
        InputError: a name is unknown.
    """
    if text.strip() in ("none", "default"):
        return USUAL if text.strip() == "default" else ()
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in REFERENCES:
            raise unknown("reference", name, ["none", "default", *REFERENCES])
    return names


def is_reference(recipe: Recipe) -> bool:
    """Whether a recipe is that of a reference row."""
    return recipe.method in REFERENCES


def trained(recipe: Recipe) -> Recipe:
    """The recipe; of a reference, which has no steps of its own, that of plain training with the same settings."""
    return replace(recipe, method=PLAIN, method_options={}) if is_reference(recipe) else recipe


def check_reference(recipe: Recipe) -> None:
    """Checks what needs neither data nor model.

    Raises:
        InputError: the reference is given options, or needs a package that is not installed.
    """
    if recipe.method_options:
        raise InputError(f"{recipe.method} has no options, so {', '.join(recipe.method_options)} cannot be set")
    if recipe.method in ("setfit", "setfit-equal") and find_spec("setfit") is None:
        raise InputError(f"the reference {recipe.method} needs the package setfit: pip install 'salience[setfit]'")
