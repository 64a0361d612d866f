"""Settings from a yaml file, merged with those of the command line."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from salience.errors import InputError, one_line, quoted
from salience.settings import read_yaml


def merged(file: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The settings of a file, replaced by those given on the command line.

    If the command line names another model or method, the options that the file has for it are dropped.
    """
    settings = file | given
    for owner, name in (("model", "model_options"), ("method", "method_options"), ("model", "procedure_options")):
        same = given.get(owner, file.get(owner)) == file.get(owner)
        if same and isinstance(file.get(name), dict) and name in given:
            settings[name] = file[name] | given[name]
        elif not same and name not in given:
            settings.pop(name, None)
    return settings


def read_config(file: Path | None, option: str = "--config") -> dict[str, Any]:
    """The settings in a yaml file, by the names of `recipe.yaml`.

    Args:
        option: what names the file, for messages.

    Raises:
        InputError: the file cannot be read, is not yaml, or does not hold names with values.
    """
    if file is None:
        return {}
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{option} {file} is not yaml: {one_line(error)}") from error
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        reason = getattr(error, "strerror", None) or one_line(error)
        raise InputError(f"cannot read {option} {file}: {reason}") from error
    settings = read_yaml(text, f"{option} {file}")
    if not isinstance(settings, dict):
        raise InputError(f"{option} {file}: settings are lines of the form name: value")
    for name in settings:
        if not isinstance(name, str):
            raise InputError(f"{option} {file}: {quoted(name)} is no name of a setting: names are texts")
    return settings


def grouped(given: Mapping[str, Any], groups: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """Settings with those of each group in a mapping, such as `{"procedure_options": {"beta": 0.2}}`.

    Args:
        groups: the names of the settings in each group.
    """
    of_groups = {group: {name: given[name] for name in names if name in given} for group, names in groups.items()}
    inside = {name for names in groups.values() for name in names}
    return {name: value for name, value in given.items() if name not in inside} | {
        group: settings for group, settings in of_groups.items() if settings
    }
