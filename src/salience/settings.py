"""Settings as fields of dataclasses. A field declares what it may be, what it means, and what it is by default.

Error messages, options of the command line, tables of the method cards and checks of parameters are all made from this
one declaration:

    @dataclass(frozen=True)
    class SSMix:
        window: float = setting(0.1, PART, "length of the span, as a part of the text")

        def __post_init__(self):
            check_settings(self)
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from numbers import Integral, Real
from typing import Any

from salience.errors import InputError, unknown

MANY = 10**6  # counts beyond this are mistakes; tensors of that size would not fit into memory


@dataclass(frozen=True)
class Kind:
    """What a setting may be.

    Args:
        words: the values in words, as they follow "give" in an error message.
        fits: whether a value is one of them.
        type: the type that the command line reads, `str`, `int`, `float` or `bool`.
        normal: the same value as a plain Python value, which yaml and JSON can hold.
        choices: the values, where there are only a few.
    """

    words: str
    fits: Callable[[Any], bool]
    type: type = str
    normal: Callable[[Any], Any] = lambda value: value
    choices: tuple[str, ...] = ()

    def or_none(self) -> Kind:
        """This kind, or None."""
        return Kind(
            f"{self.words}, or null", lambda value: value is None or self.fits(value), self.type,
            lambda value: None if value is None else self.normal(value), self.choices,
        )  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """One declared field of a dataclass.

    Args:
        help: what it means, as a phrase without a full stop.
        unset: what None stands for, in words.
    """

    name: str
    kind: Kind
    help: str
    default: Any
    unset: str

    @property
    def shown_default(self) -> str:
        """The default in words, for help texts and tables; empty if a value must be given."""
        if self.unset:
            return self.unset
        if self.default is MISSING or self.default == "":
            return ""
        return str(self.default).lower() if isinstance(self.default, bool) else f"{self.default}"


# The type is `Any`, as that of dataclasses.field is for type checkers: it stands for a value of the field's own type.
def setting(default: Any, kind: Kind, help: str, unset: str = "") -> Any:
    """A field of a dataclass that `check_settings` checks.

    Args:
        default: the default value; `MISSING` if there is none, `dict` for an empty mapping.
        kind: what the values may be. None is added to them if it is the default.
        help: what the setting means, as a phrase without a full stop.
        unset: what the default None stands for, in words.
    """
    metadata = {"setting": (kind.or_none() if default is None else kind, help, unset)}
    if default is dict:
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def settings_of(owner: Any) -> dict[str, Setting]:
    """The declared settings of a dataclass, or of one of its instances, by their names."""
    found = {}
    for declared in fields(owner):
        if "setting" in declared.metadata:
            kind, help, unset = declared.metadata["setting"]
            default = {} if declared.default_factory is dict else declared.default
            found[declared.name] = Setting(declared.name, kind, help, default, unset)
    return found


def check_settings(owner: Any, named: Callable[[str], str] = str) -> None:
    """Checks every declared setting of a dataclass instance, and makes its values plain Python values.

    Args:
        named: the name of a setting as the user knows it, such as `as_option`.

    Raises:
        InputError: a value does not fit; names the setting, the value and what to give.
    """
    for name, declared in settings_of(owner).items():
        value = getattr(owner, name)
        if not declared.kind.fits(value):
            if declared.kind.choices and isinstance(value, str):
                raise unknown(named(name), value, declared.kind.choices)
            joint = " is " if named(name).startswith("--") else "="
            raise InputError(f"{named(name)}{joint}{shown(value)}: give {declared.kind.words}")
        normal = declared.kind.normal(value)
        if normal is not value:
            object.__setattr__(owner, name, normal)


def as_option(name: str) -> str:
    """validation_share -> --validation-share"""
    return f"--{name.replace('_', '-')}"


def is_number(value: object) -> bool:
    """Whether a value is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """Whether a value is of an integer type; True and False are not."""
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
    """Whether a class and its weight are values that class weights can hold. Labels may be numbers."""
    name, weight = item
    return is_scalar(name) and (isinstance(weight, str) or is_number(weight))


def between(low: float, high: float) -> Kind:
    """A number from `low` to `high`, both included."""
    return Kind(
        f"a number from {low:,} to {high:,}", lambda value: is_number(value) and low <= value <= high, float,
        lambda value: int(value) if is_whole(value) else float(value),
    )  # fmt: skip


def whole_between(low: int, high: int) -> Kind:
    """A whole number from `low` to `high`, both included. A float such as 1e3 is one too."""
    return Kind(
        f"a whole number from {low:,} to {high:,}",
        lambda value: is_number(value) and low <= value <= high and value == int(value), int, int,
    )  # fmt: skip


def one_of(*choices: str) -> Kind:
    """One of a few texts."""
    words = f"{', '.join(choices[:-1])} or {choices[-1]}"
    return Kind(words, lambda value: isinstance(value, str) and value in choices, choices=choices)


TEXT = Kind("a text", lambda value: isinstance(value, str))
BOOL = Kind("true or false", lambda value: isinstance(value, bool), bool)
COUNT = Kind("a whole number from 1 on, at most 1,000,000", lambda value: is_whole(value) and 1 <= value <= MANY, int)
WHOLE = Kind("a whole number", is_whole, int)
INDEX = Kind("a whole number from 0 on", lambda value: is_whole(value) and 0 <= value < 2**31, int)
POSITIVE = Kind("a number above 0 and below 1e9", lambda value: is_number(value) and 0 < value < 1e9, float)
PART = Kind("a number from 0 to 1", lambda value: is_number(value) and 0 <= value <= 1, float)
SHARE = Kind("a number from 0 to below 1", lambda value: is_number(value) and 0 <= value < 1, float)
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
