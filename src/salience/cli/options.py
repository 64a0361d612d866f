"""Options of the command line, made from the settings that they set."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, get_type_hints

from typer import Option

from salience.settings import Setting, settings_of


def options_of(
    *owners: type, names: Sequence[str] = (), unset: Mapping[str, str] | None = None
) -> Callable[[Callable], Callable]:
    """A decorator that gives a command an option for every setting, in place of its parameter `given`.

    The command receives `given`: the settings that the user has given, by name. Settings that are mappings have no
    option of their own.

    Args:
        owners: dataclasses whose fields are declared with `salience.settings.setting`.
        names: only these settings, in this order. All of them if empty.
        unset: what happens without an option, in words, where it is not what the setting's default says.
    """
    settings = {name: setting for owner in owners for name, setting in settings_of(owner).items()}
    chosen = [settings[name] for name in names] or [own for own in settings.values() if own.default != {}]
    parameters = {own.name: option_of(own, (unset or {}).get(own.name)) for own in chosen}

    def decorate(command: Callable) -> Callable:
        @wraps(command)
        def with_options(**values: Any) -> Any:
            given = {name: values.pop(name) for name in parameters}
            return command(**values, given={name: value for name, value in given.items() if value is not None})

        hints = get_type_hints(command, include_extras=True)
        signature: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name == "given":
                signature += parameters.values()
            else:
                signature.append(parameter.replace(annotation=hints[parameter.name]))
        keyword = [own.replace(kind=inspect.Parameter.KEYWORD_ONLY) for own in signature]
        # typer reads both.
        with_options.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        with_options.__annotations__ = {own.name: own.annotation for own in keyword}
        return with_options

    return decorate


def option_of(setting: Setting, unset: str | None = None) -> inspect.Parameter:
    """The parameter of a command that sets a setting; None if the user does not give it."""
    return inspect.Parameter(
        setting.name, inspect.Parameter.KEYWORD_ONLY, default=None,
        annotation=Annotated[setting.kind.type | None, Option(help=help_of(setting, unset))],
    )  # fmt: skip


def help_of(setting: Setting, unset: str | None = None) -> str:
    """The help text of an option: what it means, its choices, and its default in brackets."""
    text = setting.help[0].upper() + setting.help[1:]
    if setting.kind.choices:
        text += f": {setting.kind.words.removesuffix(', or null')}"
    default = setting.shown_default if unset is None else unset
    return f"{text}." + (f" [{default}]" if default else "")
