"""What a setting may be: in words for a message, and as a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real


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


TEXT = Kind("a text", lambda value: isinstance(value, str))
BOOL = Kind("true or false", lambda value: isinstance(value, bool))
COUNT = Kind("a whole number from 1 on", lambda value: is_whole(value) and value >= 1)
WHOLE = Kind("a whole number", is_whole)
POSITIVE = Kind("a number above 0", lambda value: is_number(value) and 0 < value < inf)
PART = Kind("a number from 0 to 1", lambda value: is_number(value) and 0 <= value <= 1)
SHARE = Kind("a number from 0 to below 1", lambda value: is_number(value) and 0 <= value < 1)


def check_fields(own: object, kinds: Mapping[str, Kind]) -> None:
    """Refuses fields of `own` that are of another kind.

    Raises:
        ValueError: names the field, its value and what it may be.
    """
    for name, kind in kinds.items():
        value = getattr(own, name)
        if not kind.fits(value):
            raise ValueError(f"{name}={value!r}: give {kind.words}")
