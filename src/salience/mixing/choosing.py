"""From a method's name and options to the method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from salience.errors import InputError, unknown
from salience.mixing import METHODS

PLAIN = "plain"  # an objective of one line, not a method


def choose_method(name: str, options: Mapping[str, Any] | None = None) -> Callable | None:
    """The method called `name` with `options` as its fields; None for "plain".

    Raises:
        InputError: unknown method or field (with the nearest names), a value that it does not take, or options for
            "plain".
    """
    if name == PLAIN:
        if options:
            raise InputError(f"the method 'plain' has no options, so {', '.join(options)} cannot be set")
        return None
    if name not in METHODS:
        raise unknown("method", name, [*sorted(METHODS), PLAIN])
    # Numbers, strings and lists can be written in a recipe; a guide or a pairing is set from Python.
    settable = [option.name for option in fields(METHODS[name]()) if option.name not in ("guide", "pair")]
    chosen = {}
    for option, value in (options or {}).items():
        if option not in settable:
            raise unknown(f"option of {name}", option, settable)
        chosen[option] = tuple(value) if isinstance(value, list) else value
    try:
        return METHODS[name](**chosen)
    except ValueError as error:
        raise InputError(f"--method {name}: {error}") from error
