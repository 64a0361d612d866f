"""The recipe file of a run: reading it, and comparing its settings with those of another recipe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from salience.data.columns import Columns
from salience.errors import InputError, listed, one_line
from salience.training.manifest import RECIPE

QUICK = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a grid of 1,000 runs has 1,000 recipes


def read_recipe(file: Path) -> dict[str, Any]:
    """The settings in a recipe file, of which some may be retired.

    Raises:
        InputError: the file is damaged.
        OSError: the file cannot be read.
    """
    try:
        recipe = yaml.load(file.read_text(encoding="utf-8"), Loader=QUICK)
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{file} is damaged: {one_line(error, 200)}") from error
    if not isinstance(recipe, dict):
        raise InputError(f"{file} is damaged: settings are lines of the form name: value")
    return recipe


def trained_columns(model: str | Path) -> Columns | None:
    """The columns on which a run was trained; None for other models, and for recipes that name no columns."""
    try:
        recipe = read_recipe(Path(model).expanduser() / RECIPE)
        text, text_pair, label = (recipe[role] for role in ("text", "text_pair", "label"))
        separator = recipe.get("label_separator")
    except (OSError, InputError, KeyError):
        return None
    if not isinstance(text, str) or not all(isinstance(name, str | None) for name in (text_pair, label, separator)):
        return None
    return Columns(text, text_pair, label, separator=separator)


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names in `now` whose values in `before` are different or missing."""
    return [name for name in now if before.get(name) != now[name]]


def check_same_recipe(before: Mapping[str, Any], now: Mapping[str, Any], output: str | Path) -> None:
    """Checks that an interrupted run is resumed with its own settings and data.

    Args:
        before: the settings of the interrupted run.
        now: the settings of the run that resumes it.
        output: the folder of the run, as messages name it.

    Raises:
        InputError: a setting or a data file has changed; names it.
    """
    for name in changed(before, now):
        if name == "checksums":
            files = changed(before.get(name) or {}, now[name])
            raise InputError(
                f"{output}: {listed(files)} changed after the interrupted run had begun: restore the earlier file to "
                "resume, or start again with --overwrite"
            )
        raise InputError(
            f"{output}: the interrupted run had {name}={before.get(name)!r}, not {now[name]!r}: "
            "resume it with the same settings, or --overwrite it"
        )
