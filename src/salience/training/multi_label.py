"""What training on texts with several labels each cannot have, refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from salience.data.task import Task
from salience.errors import InputError
from salience.models.attention_models import attention_options
from salience.settings import as_option
from salience.training.measured_scores import Measure
from salience.training.recipe import Recipe

# Settings that need one label for each text, and why. They are refused if they are not at these values.
ONE_LABEL_ONLY = {
    "contrastive": (0.0, "its loss compares the texts of a class, and these texts have sets of labels"),
}
# References of a comparison that need one label, and why.
ONE_LABEL_REFERENCES = dict.fromkeys(
    ("setfit", "setfit-equal"), "its pairs are of texts of one class and of different ones"
)


def check_multi_label(recipe: Recipe, task: Task) -> None:
    """Checks a recipe for texts that can have several labels; nothing is checked of others.

    Raises:
        InputError: names the option, and why it needs one label for each text.
    """
    if not task.multi_label:
        return
    options = attention_options(recipe.model, recipe.model_options)
    if options is not None:
        needed = "VAT" if options.pooling == "variational" else "an attention classifier with polarities (UAFTC)"
        raise refused(f"--model {recipe.model}", f"{needed} is built for classes that exclude each other")
    for name, (usual, reason) in ONE_LABEL_ONLY.items():
        value = getattr(recipe, name)
        if value is not None and value != usual:
            raise refused(as_option(name), reason)


def refused(option: str, reason: str) -> InputError:
    """The error for an option."""
    return InputError(f"{option} is not available for texts with several labels: {reason}")


def check_compared(methods: Iterable[str | None], multi_label: bool) -> None:
    """Raises an `InputError` if a method or reference of a comparison needs one label, and texts can have several.

    Args:
        methods: names of methods and references.
        multi_label: whether texts can have several labels.
    """
    for name in methods:
        if multi_label and name in ONE_LABEL_REFERENCES:
            raise refused(f"the reference {name}", ONE_LABEL_REFERENCES[name])


def check_measures(measures: Mapping[str, Measure], multi_label: bool) -> None:
    """Raises an `InputError` if a measure needs one label for each text and `multi_label` texts can have several."""
    for name, measure in measures.items():
        reason = getattr(measure, "one_label", None)
        if multi_label and reason is not None:
            raise refused(as_option(name), reason)


def check_one_label(task: Task, what: str) -> None:
    """Checks that each text has one label.

    Args:
        what: a command and what it does, for which this is needed; a clause for the message.

    Raises:
        InputError: texts can have several labels.
    """
    if task.multi_label:
        raise InputError(f"{what}, which is not available for texts with several labels")
