"""The texts that already have a label: those on which a run was trained, chosen or tested."""

from __future__ import annotations

from pathlib import Path

from salience.data.splitting import stripped
from salience.errors import InputError
from salience.settings import settings_of
from salience.training.data_settings import DataSettings
from salience.training.inputs import task_of
from salience.training.manifest import RECIPE
from salience.training.preparing import silent
from salience.training.recipe import Recipe
from salience.training.recipe_file import read_recipe


def texts_of_run(model: str | Path) -> tuple[set[tuple[str, ...]], str | None]:
    """The labelled texts of a run, read again from the files that its recipe names.

    Test and validation rows are among them: who trains on them has no test any more. Of a run on a part of a file
    (`--size`), the other rows of the file are not.

    Args:
        model: a run folder, or any other classifier.

    Returns:
        The texts, or pairs of texts, without the space around them; and a note of one line if they are not known.
    """
    try:
        recipe = read_recipe(Path(model).expanduser() / RECIPE)
        names = {*settings_of(DataSettings), "seed"} - {"label_descriptions", "label_noise"}
        rows = Recipe.from_mapping({name: value for name, value in recipe.items() if name in names})
    except (OSError, InputError, TypeError):
        return set(), f"{model} does not say which texts it was trained on, so they may be among the suggestions"
    try:
        task = task_of(rows, silent)
    except (OSError, InputError) as error:
        return set(), (
            f"the texts that {model} was trained on cannot be read, so they may be among the suggestions ({error})"
        )
    return {row for part in (task.training, task.validation, task.test) for row in stripped(part)}, None
