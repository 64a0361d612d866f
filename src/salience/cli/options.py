"""Options of the command line, made from declared settings, and arguments that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from shutil import get_terminal_size
from textwrap import fill
from typing import Annotated, Any, get_type_hints

from typer import Argument, Exit, Option

from salience.settings import Setting, as_option, settings_of

NAME_WIDTH = 22  # columns of a catalogue's names
INDENT = " " * NAME_WIDTH

Model = Annotated[str, Argument(help="Folder written by `salience train`, or any other trained classifier.")]
Pieces = Annotated[str, Option(help="How token scores are aggregated to a word score: sum or max.")]
Precision = Annotated[
    str,
    Option(help="Number format of the computation: fp32, bf16, or auto, bf16 where the device computes it faster."),
]
Jobs = Annotated[
    int, Option(help="Number of runs at the same time, each in a process with its share of the cores, and a GPU.")
]
Ray = Annotated[
    str | None,
    Option(metavar="ADDRESS", help="Ray cluster that does the work: local, auto, HOST:PORT.  [default: this machine]"),
]
Part = Annotated[
    str | None,
    Option(
        metavar="K/N", help="The K-th of N equal parts of the work, for N processes or machines.  "
        "[default: this task's part in a Slurm array, else everything]",
    ),
]  # fmt: skip
ReportTo = Annotated[
    str | None,
    Option(
        help="Trackers that follow the training, separated by commas: tensorboard, mlflow, wandb, trackio. The files "
        "of TensorBoard go to the folder logs beside the run.  [default: none]"
    ),
]
Debug = Annotated[bool, Option("--debug", help="Show the traceback of an error.")]
# How the defaults of a recipe read in commands about a trained model.
AS_IN_TRAINING = dict.fromkeys(("text", "text_pair", "label"), "as in training, or guessed") | {
    "max_length": "as in training"
}


def options_of(
    *owners: type, names: Sequence[str], into: str = "settings", unset: Mapping[str, str] | None = None,
    defaults: Mapping[str, Any] | None = None, only_given: bool = False,
) -> Callable[[Callable], Callable]:  # fmt: skip
    """A decorator that gives a command an option for each named setting, in place of its parameter `into`.

    The command receives the checked values in one mapping from names to values.

    Args:
        owners: dataclasses whose fields are declared with `salience.settings.setting`; the last one that declares a
            name wins.
        names: the settings, in the order of the help.
        unset: the meaning of a missing option, in words, where it differs from the declaration.
        defaults: default values that differ from the declared ones.
        only_given: whether the mapping holds only the options that the user has given, and no defaults.
    """
    declared = {name: setting for owner in owners for name, setting in settings_of(owner).items()}
    usual = {name: declared[name].default for name in names} | dict(defaults or {})
    meaning = {name: str(value) for name, value in (defaults or {}).items()} | dict(unset or {})
    options = [option_of(declared[name], meaning.get(name)) for name in names]

    def decorate(command: Callable) -> Callable:
        @wraps(command)
        def with_options(**values: Any) -> Any:
            answers = {name: values.pop(name) for name in names}
            given = {
                name: declared[name].checked(value, as_option) for name, value in answers.items() if value is not None
            }
            return command(**values, **{into: given if only_given else usual | given})

        hints = get_type_hints(command, include_extras=True)
        signature: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name == into:
                signature += options
            else:
                signature.append(parameter.replace(annotation=hints[parameter.name]))
        keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in signature]
        # typer reads both.
        with_options.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword}
        return with_options

    return decorate


def catalogue(option: str, entries: str, rows: Callable[[], Iterable[tuple[str, str]]]) -> Any:
    """A flag that prints a catalogue and ends the command. The catalogue is imported only then: it may need torch.

    Args:
        entries: what it holds, such as "metrics".
        rows: gives the names and their meanings.
    """

    def show(chosen: bool) -> None:
        if chosen:
            for name, meaning in rows():
                print(fill(f"{name:{NAME_WIDTH}}{meaning}", get_terminal_size().columns, subsequent_indent=INDENT))
            raise Exit

    return Option(option, help=f"Print the {entries} and stop.", is_eager=True, callback=show)


def option_of(setting: Setting, unset: str | None = None) -> inspect.Parameter:
    """The parameter of a command that sets a setting; None if the user does not give it."""
    return inspect.Parameter(
        setting.name, inspect.Parameter.KEYWORD_ONLY, default=None,
        annotation=Annotated[setting.kind.type | None, Option(help=help_of(setting, unset))],
    )  # fmt: skip


def help_of(setting: Setting, unset: str | None = None) -> str:
    """The help text of an option: its meaning, its choices, and in brackets its default.

    Args:
        unset: the default in words, where it differs from the declaration.
    """
    text = setting.help[0].upper() + setting.help[1:]
    if setting.kind.choices:
        text += f": {setting.kind.words}"
    default = setting.shown_default if unset is None else unset
    return f"{text}." + (f"  [default: {default}]" if default else "")
