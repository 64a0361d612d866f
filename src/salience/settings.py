"""What a setting may be: in words for a message, and as a test."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real

MANY = 10**6  # counts beyond this are mistakes; tensors of that size would not fit into memory


@dataclass(frozen=True)
class Kind:
    words: str  # "give ..."
    fits: Callable[[object], bool]

    def or_none(self) -> Kind:
        return Kind(f"{self.words}, or null", lambda value: value is None or self.fits(value))


def is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_scalar(value: object) -> bool:
    """Whether a value is null, true or false, a number, or a text."""
    return value is None or isinstance(value, bool | str) or is_number(value)


def is_option(value: object) -> bool:
    """Whether a value is one that a field of a method or a model can take: a scalar, or a list of scalars."""
    return is_scalar(value) or (isinstance(value, list | tuple) and all(map(is_scalar, value)))


def is_options(value: object) -> bool:
    """Whether a value is a mapping from names to values of fields."""
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and is_option(option) for name, option in value.items()
    )


def is_weight(item: tuple[object, object]) -> bool:
    """Whether a class and its weight are values that class weights can hold: labels may be numbers."""
    name, weight = item
    return is_scalar(name) and (isinstance(weight, str) or is_number(weight))


TEXT = Kind("a text", lambda value: isinstance(value, str))
BOOL = Kind("true or false", lambda value: isinstance(value, bool))
COUNT = Kind("a whole number from 1 on, at most 1,000,000", lambda value: is_whole(value) and 1 <= value <= MANY)
WHOLE = Kind("a whole number", is_whole)
INDEX = Kind("a whole number from 0 on", lambda value: is_whole(value) and 0 <= value < 2**31)
POSITIVE = Kind("a number above 0 and below 1e9", lambda value: is_number(value) and 0 < value < 1e9)
PART = Kind("a number from 0 to 1", lambda value: is_number(value) and 0 <= value <= 1)
SHARE = Kind("a number from 0 to below 1", lambda value: is_number(value) and 0 <= value < 1)
LEVEL = Kind(
    "the name of a level, a layer's number, or a part of the depth from 0 to 1",
    lambda value: isinstance(value, str) or is_whole(value) or PART.fits(value),
)
OPTIONS = Kind("names with a value each, or with a list of values", is_options)
CHECKSUMS = Kind(
    "names of files with the SHA-256 of each",
    lambda value: isinstance(value, Mapping) and all(isinstance(text, str) for item in value.items() for text in item),
)
WEIGHTS = Kind(
    "a text such as none or auto, or names with a number each",
    lambda value: isinstance(value, str) or (isinstance(value, Mapping) and all(map(is_weight, value.items()))),
)


def check_fields(own: object, kinds: Mapping[str, Kind]) -> None:
    """Refuses fields of `own` that are of another kind.

    Raises:
        ValueError: names the field, its value and what it may be.
    """
    for name, kind in kinds.items():
        value = getattr(own, name)
        if not kind.fits(value):
            raise ValueError(f"{name}={shown(value)}: give {kind.words}")


def shown(value: object) -> str:
    """A value as a message shows it, cut where it is long or deeply nested."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = 60
    short.maxlevel = 3
    return short.repr(value)
