"""Settings written as text: `field=value`, and `name:field=value,field=value`. Values are read as yaml reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from salience.errors import InputError, one_line, quoted


def assigned(option: str, assignments: Sequence[str] | None) -> dict[str, Any]:
    """`["window=0.2"]` as `{"window": 0.2}`.

    Args:
        option: where the assignments stand, for messages.

    Raises:
        InputError: an assignment without a field or a value, or a value that is not yaml.
    """
    options = {}
    for assignment in assignments or []:
        name, equals, value = assignment.partition("=")
        if not (name and equals and value):
            raise InputError(f"{option} {one_line(assignment)}: write it as field=value, such as {option} window=0.2")
        options[name.strip()] = read_yaml(value, f"{option} {one_line(assignment)}: the value")
    return options


def name_and_options(text: str, option: str = "--method") -> tuple[str, dict[str, Any]]:
    """`"dropmix-g:ratio=0.3,alpha=1"` as `("dropmix-g", {"ratio": 0.3, "alpha": 1})`.

    Raises:
        InputError: as `assigned`.
    """
    name, colon, assignments = text.partition(":")
    return name, assigned(f"{option} {name}:", comma_separated(assignments) if colon else None)


def several_with_options(text: str) -> list[str]:
    """`"plain,dropmix-g:ratio=0.3,alpha=1,ssmix"` as `["plain", "dropmix-g:ratio=0.3,alpha=1", "ssmix"]`.

    A part with an equals sign and no colon before it is one more option of the name before it.
    """
    found: list[str] = []
    for part in comma_separated(text):
        if found and "=" in part and ":" not in part.partition("=")[0] and ":" in found[-1]:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def comma_separated(text: str) -> list[str]:
    """The parts of a text between its commas; commas inside brackets and braces separate nothing."""
    return [part.strip() for part in re.split(r",(?![^\[\]{}]*[\]}])", text)]


def read_yaml(text: str, source: str) -> Any:
    """The value that a yaml text stands for, with 1e-4 read as the number that it is.

    Raises:
        InputError: the text is not yaml; begins with `source`.
    """
    import yaml

    try:
        return yaml.load(text, Loader=loader())
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:  # a date such as 2020-99-99
        raise InputError(f"{source} is not yaml: {reason_of(error)}") from error


def read_yaml_texts(text: str, source: str) -> Any:
    """The lists and mappings of texts in a yaml text; a name such as yes or 1 is a text too.

    Raises:
        InputError: the text is not yaml, or a mapping has a name twice; begins with `source`.
    """
    import yaml

    try:
        return yaml.load(text, Loader=distinct(yaml.BaseLoader))
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{source} is not yaml: {reason_of(error)}") from error


def reason_of(error: Exception) -> str:
    """Why a text is not yaml, in one line."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return one_line(error).replace('in "<unicode string>", ', "at ")[:300]


@cache
def distinct(base: type) -> type:
    """A loader of PyYAML that refuses a mapping with a name twice, as YAML does; PyYAML takes the last value."""
    import yaml

    class Distinct(base):
        """Reads as its base does."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
            """A mapping whose names differ."""
            seen = set()
            for name in (name for name, _ in node.value if isinstance(name, yaml.ScalarNode)):
                if name.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{quoted(name.value)} is there twice", name.start_mark
                    )
                seen.add(name.value)
            return super().construct_mapping(node, deep)

    return Distinct


@cache
def loader() -> type:
    """PyYAML's safe loader with the numbers of YAML 1.2. It follows YAML 1.1, for which 1e-4 is a text."""
    import yaml

    class Loader(distinct(yaml.SafeLoader)):  # type: ignore[misc]
        """Reads plain values. A number may have an exponent without a decimal point or a sign."""

    exponent = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", exponent, list("-+.0123456789"))
    return Loader
