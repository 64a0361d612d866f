"""Settings are fields of dataclasses. Each field declares its values, its default and its meaning, once.

Checks, error messages and command-line options are made from the declarations; the method cards repeat them.

    @dataclass(frozen=True)
    class SSMix:
        window: float = setting(0.1, PART, "length of the span, as a fraction of the text's length")

        def __post_init__(self):
            check_settings(self)
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from numbers import Integral, Real
from typing import Any

from salience.errors import InputError, one_line, quoted, unknown


@dataclass(frozen=True)
class Kind:
    """The values that a setting can have."""

    words: str  # the values in words, as they follow "give" in an error message
    fits: Callable[[Any], bool]  # whether a value is one of them
    type: type = str  # that the command line reads: `str`, `int`, `float` or `bool`
    normal: Callable[[Any], Any] = lambda value: value  # to the plain Python value, which yaml and JSON can hold
    choices: tuple[str, ...] = ()  # the values, if there are only a few
    optional: bool = False  # whether None is allowed too

    def or_none(self) -> Kind:
        return replace(self, optional=True)


@dataclass(frozen=True)
class Setting:
    """One declared field of a dataclass."""

    name: str
    kind: Kind
    help: str  # its meaning, as a phrase without a full stop
    default: Any
    unset: str = ""  # the meaning of None, in words

    @property
    def shown_default(self) -> str:
        """The default in words, for help texts; empty if a value must be given."""
        if self.default is None:
            return self.unset or "none"
        if self.default is MISSING or self.default == "":
            return ""
        return str(self.default).lower() if isinstance(self.default, bool) else f"{self.default}"

    def checked(self, value: Any, named: Callable[[str], str] = str) -> Any:
        """The value as a plain Python value; refuses one that does not fit, with the name as `named` gives it."""
        kind, name = self.kind, named(self.name)
        if value is None and kind.optional:
            return None
        if kind.fits(value):
            return kind.normal(value)
        if kind.choices and isinstance(value, str):
            raise unknown(name, value, kind.choices)
        if name.startswith("--"):  # an option that is not wanted is left out
            raise InputError(f"{name} is {shown(value)}: give {kind.words}")
        raise InputError(f"{name}={shown(value)}: give {kind.words}{', or null' * kind.optional}")


# The type is `Any`, as that of dataclasses.field is for type checkers: it stands for a value of the field's own type.
def setting(default: Any, kind: Kind, help: str, unset: str = "") -> Any:
    """A field of a dataclass that `check_settings` checks. None fits too if it is the default.

    A subclass that changes only the default writes `name: type = default` and keeps the rest of the declaration. The
    default is `MISSING` if there is none, and `dict` for an empty mapping.
    """
    declared = Setting("", kind.or_none() if default is None else kind, help, default, unset)
    if default is dict:
        return field(default_factory=dict, metadata={"setting": declared})
    return field(default=default, metadata={"setting": declared})


def same_setting(owner: type, name: str) -> Any:
    """A field of a dataclass with the declaration of the field `name` of another dataclass."""
    declared = settings_of(owner)[name]
    return setting(declared.default, declared.kind, declared.help, declared.unset)


def settings_of(owner: Any) -> dict[str, Setting]:
    """The declared settings of a dataclass, or of one of its instances, by their names."""
    return dict(settings_of_class(owner if isinstance(owner, type) else type(owner)))


@cache
def settings_of_class(owner: type) -> dict[str, Setting]:
    settings = {}
    for now in fields(owner):
        for cls in owner.__mro__:  # it may change only the default
            declared = getattr(cls, "__dataclass_fields__", {}).get(now.name)
            if declared is not None and "setting" in declared.metadata:
                default = {} if now.default_factory is dict else now.default
                settings[now.name] = replace(declared.metadata["setting"], name=now.name, default=default)
                break
    return settings


def check_settings(owner: Any, named: Callable[[str], str] = str) -> None:
    """Checks every declared setting of a dataclass instance as `Setting.checked`, and makes its values plain."""
    for name, declared in settings_of(owner).items():
        value = getattr(owner, name)
        normal = declared.checked(value, named)
        if normal is not value:
            object.__setattr__(owner, name, normal)


def as_option(name: str) -> str:
    """validation_share -> --validation-share"""
    return f"--{name.replace('_', '-')}"


def is_number(value: object) -> bool:
    """True and False are no numbers."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """True and False are no numbers."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def shown(value: object) -> str:
    """A value as a message shows it, cut where it is long or deeply nested."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = 60
    short.maxlevel = 3
    return short.repr(value)


def number(words: str, fits: Callable[[Any], bool]) -> Kind:
    return Kind(
        words, lambda value: is_number(value) and fits(value), float,
        lambda value: int(value) if isinstance(value, Integral) else float(value),
    )  # fmt: skip


def between(low: float, high: float) -> Kind:
    return number(f"a number from {low:,} to {high:,}", lambda value: low <= value <= high)


def whole_between(low: int, high: int) -> Kind:
    """A float such as 1e3 is a whole number too."""
    return Kind(
        f"a whole number from {low:,} to {high:,}",
        lambda value: is_number(value) and low <= value <= high and value == int(value), int, int,
    )  # fmt: skip


def one_of(*choices: str) -> Kind:
    words = f"{', '.join(choices[:-1])} or {choices[-1]}"
    return Kind(words, lambda value: isinstance(value, str) and value in choices, choices=choices)


TEXT = Kind("a text", lambda value: isinstance(value, str))
BOOL = Kind("true or false", lambda value: isinstance(value, bool), bool)
FUNCTION = Kind("a function", callable)
# Larger counts are mistakes: tensors of that size do not fit into memory.
COUNT = Kind("a whole number from 1 to 1,000,000", lambda value: is_whole(value) and 1 <= value <= 10**6, int, int)
WHOLE = Kind("a whole number", is_whole, int, int)
POSITIVE = number("a number above 0 and below 1e9", lambda value: 0 < value < 1e9)
PART = between(0, 1)
SHARE = number("a number from 0 to below 1", lambda value: 0 <= value < 1)


def assigned(option: str, assignments: Sequence[str] | None) -> dict[str, Any]:
    """`["window=0.2"]` as `{"window": 0.2}`; `option` is where they stand, for messages."""
    options = {}
    for assignment in assignments or []:
        name, equals, value = assignment.partition("=")
        if not (name and equals and value):
            raise InputError(f"{option} {one_line(assignment)}: write it as field=value")
        options[name.strip()] = read_yaml(value, f"{option} {one_line(assignment)}: the value")
    return options


def name_and_options(text: str, option: str = "--method") -> tuple[str, dict[str, Any]]:
    """`"dropmix-g:ratio=0.3,alpha=1"` as `("dropmix-g", {"ratio": 0.3, "alpha": 1})`."""
    name, colon, assignments = text.partition(":")
    return name, assigned(f"{option} {name}:", comma_separated(assignments) if colon else None)


def with_options(name: str, options: Mapping[str, Any]) -> str:
    """`("dropmix-g", {"ratio": 0.3})` as `"dropmix-g:ratio=0.3"`, which `name_and_options` reads."""
    # Values are in YAML without spaces: true, null, [2,32].
    shown = [f"{each}=" + json.dumps(value, separators=(",", ":")).strip('"') for each, value in options.items()]
    return name + (f":{','.join(shown)}" if options else "")


def several_with_options(text: str) -> list[str]:
    """`"plain,dropmix-g:ratio=0.3,alpha=1,ssmix"` as `["plain", "dropmix-g:ratio=0.3,alpha=1", "ssmix"]`."""
    found: list[str] = []
    for part in comma_separated(text):
        # With an equals sign and no colon before it, it is one more option of the name before it.
        if found and "=" in part and ":" not in part.partition("=")[0] and ":" in found[-1]:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def comma_separated(text: str) -> list[str]:
    """The parts of a text between its commas; commas inside brackets and braces separate nothing."""
    return [part.strip() for part in re.split(r",(?![^\[\]{}]*[\]}])", text)]


def numbers(text: str, separator: str, example: str, kind: type = int) -> list:
    """The numbers of a text, which `separator` separates; a message shows the example."""
    try:
        return [kind(number) for number in text.split(separator)]
    except ValueError:
        raise InputError(f"{text!r} are no numbers; write {example}") from None


def read_yaml(text: str, source: str, texts_only: bool = False) -> Any:
    """The value that a yaml text stands for; with `texts_only`, every name and value is read as a text."""
    import yaml

    try:
        return yaml.load(text, Loader=loader(yaml.BaseLoader if texts_only else yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:  # a date such as 2020-99-99
        reason = one_line(error).replace('in "<unicode string>", ', "at ")[:300]
        if isinstance(error, RecursionError):
            reason = "nested too deeply"
        raise InputError(f"{source} is not yaml: {reason}") from error


@cache
def loader(base: type) -> type:
    """A loader of PyYAML with two rules of YAML 1.2: no mapping has a name twice, and 1e-4 is a number."""
    import yaml

    class Loader(base):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
            seen = set()
            for name in (name for name, _ in node.value if isinstance(name, yaml.ScalarNode)):
                if name.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{quoted(name.value)} is there twice", name.start_mark
                    )
                seen.add(name.value)
            return super().construct_mapping(node, deep)

    if base is not yaml.BaseLoader:
        exponent = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+$")
        Loader.add_implicit_resolver("tag:yaml.org,2002:float", exponent, list("-+.0123456789"))
    return Loader
