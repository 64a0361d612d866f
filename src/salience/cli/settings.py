"""Settings as a user writes them: a yaml file, `field=value` on the command line, and both together."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from salience.errors import InputError, quoted


def merged(file: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The file's settings under those given; options of its model and method stay while these are not changed."""
    settings = file | given
    for owner in ("model", "method"):
        name = f"{owner}_options"
        if owner not in given and isinstance(file.get(name), dict) and name in given:
            settings[name] = file[name] | given[name]
        elif given.get(owner, file.get(owner)) != file.get(owner) and name not in given:
            settings.pop(name, None)
    return settings


def assigned(option: str, assignments: list[str] | None) -> dict[str, Any]:
    """`["window=0.2"]` as `{"window": 0.2}`, read as yaml reads values.

    Raises:
        InputError: an assignment without a field or a value, or a value that is not yaml.
    """
    options = {}
    for assignment in assignments or []:
        name, equals, value = assignment.partition("=")
        if not (name and equals and value):
            raise InputError(f"{option} {one_line(assignment)}: write it as field=value, such as {option} window=0.2")
        options[name] = read_yaml(value, f"{option} {one_line(assignment)}: the value")
    return options


def read_config(file: Path | None) -> dict[str, Any]:
    """The settings in a yaml file, by the names of `recipe.yaml`.

    Raises:
        InputError: the file cannot be read, is not yaml, or holds something else than names with values.
    """
    if file is None:
        return {}
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"--config {file} is not yaml: {one_line(error)}") from error
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        reason = getattr(error, "strerror", None) or one_line(error)
        raise InputError(f"cannot read --config {file}: {reason}") from error
    settings = read_yaml(text, f"--config {file}")
    if not isinstance(settings, dict):
        raise InputError(f"--config {file}: settings are lines of the form name: value")
    for name in settings:
        if not isinstance(name, str):
            raise InputError(f"--config {file}: {quoted(name)} is no name of a setting, which is a text")
    return settings


def read_yaml(text: str, source: str) -> Any:
    """The value that a yaml text stands for, with 1e-4 read as the number that it is.

    Raises:
        InputError: the text is not yaml; begins with `source`.
    """
    import yaml

    try:
        return yaml.load(text, Loader=loader())
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:  # a date such as 2020-99-99
        reason = "nested too deeply" if isinstance(error, RecursionError) else one_line(error)
        raise InputError(f"{source} is not yaml: {reason[:300]}") from error


@cache
def loader() -> type:
    """PyYAML's safe loader, which follows YAML 1.1 and so takes 1e-4 for a text, with the numbers of YAML 1.2."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Reads plain values; a number may have an exponent without a decimal point or a sign."""

    exponent = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", exponent, list("-+.0123456789"))
    return Loader


def one_line(value: object) -> str:
    return " ".join(str(value).split())
