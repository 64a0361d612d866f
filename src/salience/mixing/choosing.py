"""A mixing method by name and options, as recipes and command lines give it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from salience.errors import InputError, unknown
from salience.mixing import METHODS
from salience.mixing.method import Method

PLAIN = "plain"  # training without mixing


def choose_method(name: str, options: Mapping[str, Any] | None = None) -> Method | None:
    """The method with this name and these options; None for "plain".

    Args:
        name: a key of `METHODS`, or "plain".
        options: values of the method's fields. `guide` and `pair` are set from Python only. A list becomes a tuple.

    Raises:
        InputError: the method or an option is unknown (the message suggests similar names), a value is not valid, or
            "plain" was given options.
    """
    if name == PLAIN:
        if options:
            raise InputError(f"the method 'plain' has no options, so {', '.join(options)} cannot be set")
        return None
    if name not in METHODS:
        raise unknown("method", name, [*sorted(METHODS), PLAIN])
    # A recipe can hold numbers, strings and lists, but not a guide or a pairing.
    known = fields(METHODS[name]())  # type: ignore[arg-type]  # methods are dataclasses
    settable = [option.name for option in known if option.name not in ("guide", "pair")]
    chosen = {}
    for option, value in (options or {}).items():
        if option not in settable:
            raise unknown(f"option of {name}", option, settable)
        chosen[option] = tuple(value) if isinstance(value, list) else value
    try:
        return METHODS[name](**chosen)
    except ValueError as error:
        raise InputError(f"--method {name}: {error}") from error
