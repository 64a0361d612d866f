"""A mixing method by name and options, as recipes and command lines give it, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from salience.errors import InputError, unknown
from salience.mixing import METHODS
from salience.mixing.method import Method

PLAIN = "plain"  # training without mixing


def choose_method(name: str | None, options: Mapping[str, Any] | None = None) -> Method | None:
    """The method with this name and these options; None for "plain", and for None, which is chosen later.

    Raises:
        InputError: the method, an option or a value of one is unknown, or options are given without a method.
    """
    if name is None:
        if options:
            raise InputError(f"{', '.join(options)}: settings of a method need its name: add --method NAME")
        return None
    if name == PLAIN:
        if options:
            raise InputError(f"the method {name!r} has no options, so {', '.join(options)} cannot be set")
        return None
    if name not in METHODS:
        raise unknown("method", name, [*sorted(METHODS), PLAIN])
    settable = settable_fields(METHODS[name]())
    chosen = {}
    for option, value in (options or {}).items():
        if option not in settable:
            raise unknown(f"option of {name}", option, settable)
        chosen[option] = tuple(value) if isinstance(value, list) else value
    try:
        return METHODS[name](**chosen)
    except ValueError as error:
        raise InputError(f"--method {name}: {error}") from error


def written_method(method: Method | None) -> tuple[str, dict[str, Any]]:
    """The name and the options by which `choose_method` gives an equal method; of None, "plain"."""
    if method is None:
        return PLAIN, {}
    for name, make in METHODS.items():
        usual = make()
        if type(method) is not type(usual):
            continue
        names = [option.name for option in fields(usual)]  # type: ignore[arg-type]  # methods are dataclasses
        changed = {each: getattr(method, each) for each in names if getattr(method, each) != getattr(usual, each)}
        if set(changed) <= set(settable_fields(usual)):
            return name, {each: list(value) if isinstance(value, tuple) else value for each, value in changed.items()}
    raise InputError(
        f"{method!r} cannot be written by name and options: it is of no class in salience.METHODS, or its guide or "
        "pairing is set from Python"
    )


def settable_fields(method: Any) -> list[str]:
    """The fields that a recipe can hold: numbers, texts and lists. A guide or a pairing is set from Python."""
    return [option.name for option in fields(method) if option.name not in ("guide", "pair")]
