"""The kinds of values that only recipes have: options of a method or a model, weights of classes, checksums."""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from salience.settings import Kind, is_number


def is_scalar(value: object) -> bool:
    """Whether a value is null, true or false, a number, or a text."""
    return value is None or isinstance(value, bool | str) or is_number(value)


def is_option(value: object) -> bool:
    """Whether a value is one that a field of a method or a model can have: a scalar, or a list of scalars."""
    return is_scalar(value) or (isinstance(value, list | tuple) and all(map(is_scalar, value)))


def is_estimate(value: object) -> bool:
    """Whether a value is none, holdout, or folds:K with K from 2 to 20."""
    if not isinstance(value, str):
        return False
    folds = re.fullmatch("folds:([0-9]{1,2})", value)
    return value in ("none", "holdout") or (folds is not None and 2 <= int(folds[1]) <= 20)


def plain_value(value: Any) -> Any:
    """A value that yaml can hold: tuples as lists, and NumPy's numbers as Python's, in mappings too."""
    if isinstance(value, Mapping):
        return {plain_value(key): plain_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(each) for each in value]
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


OPTIONS = Kind(
    "names with a value each, or with a list of values",
    lambda value: (
        isinstance(value, Mapping)
        and all(isinstance(name, str) and is_option(option) for name, option in value.items())
    ),
    normal=plain_value,
)
WEIGHTS = Kind(
    "a text such as none or auto, or names with a number each",
    lambda value: (
        isinstance(value, str)
        or (
            isinstance(value, Mapping)  # the names are labels, which may be numbers
            and all(is_scalar(name) and (isinstance(each, str) or is_number(each)) for name, each in value.items())
        )
    ),
    normal=plain_value,
)
CHECKSUMS = Kind(
    "names of files with the SHA-256 of each",
    lambda value: isinstance(value, Mapping) and all(isinstance(text, str) for item in value.items() for text in item),
)
ESTIMATE = Kind("none, holdout, or folds:K with a whole number K from 2 to 20, such as folds:5", is_estimate)
