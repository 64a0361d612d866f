"""Options that several commands share, options that are settings of a recipe, and the help: a line an option."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from shutil import get_terminal_size
from textwrap import fill
from typing import Annotated, Any

from typer import Argument, Exit, Option
from typer.core import TyperCommand

from salience.settings import as_option, settings_of
from salience.training.recipe import Recipe

NAME_WIDTH = 22  # columns of a catalogue's names
OPTION_WIDTH = 28  # columns of a help's options, at most
SHOWN_KINDS = {"<str>": "TEXT", "<int>": "N", "<float>": "NUMBER", "<path>": "PATH", "<int range>": "N"}


class Command(TyperCommand):
    """A command whose help has a line for each option, in groups where its options name some.

    It is plain text for every terminal, and in 80 columns no line is broken.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                name, meaning = record[0], record[1].replace("[required]", "").strip()
                for kind, shown in SHOWN_KINDS.items():
                    name = name.replace(kind, shown)
                if parameter.param_type_name == "argument":
                    name = name.split()[0].upper()
                group = getattr(parameter, "rich_help_panel", None)
                groups.setdefault(group or "Output" * ("Output" in groups), []).append((name, meaning))
        formatter.write_paragraph()
        for title, records in groups.items():
            if title:
                formatter.write_heading(title)
            with formatter.indentation():
                formatter.write_dl(records, col_max=OPTION_WIDTH)


def of_setting(name: str, help: str, group: str | None = None, metavar: str | None = None) -> Any:
    """An option that is a setting of a recipe: its value is checked by the declaration, before anything is read.

    Args:
        help: the meaning in a few words; the page of the settings has the whole of it.
        group: the heading that it stands under in the help.
    """
    declared = settings_of(Recipe)[name]

    def checked(value: Any) -> Any:
        return None if value is None else declared.checked(value, as_option)

    return Option(as_option(name), help=help, callback=checked, rich_help_panel=group, metavar=metavar)


def settings_in(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those arguments of a command that are settings of a recipe and were given."""
    return {name: arguments[name] for name in settings_of(Recipe) if arguments.get(name) is not None}


def catalogue(option: str, entries: str, rows: Callable[[], Iterable[tuple[str, str]]]) -> Any:
    """A flag that prints a catalogue and ends the command. The catalogue is imported only then: it may need torch.

    Args:
        entries: what it holds, such as "metrics".
        rows: gives the names and their meanings.
    """

    def show(chosen: bool) -> None:
        if chosen:
            for name, meaning in rows():
                line = f"{name:{NAME_WIDTH}}{meaning}".rstrip()
                print(fill(line, get_terminal_size().columns, subsequent_indent=" " * NAME_WIDTH))
            raise Exit

    return Option(option, help=f"Print the {entries} and stop.", is_eager=True, callback=show)


Model = Annotated[str, Argument(help="Run folder, or any other trained classifier.")]
Text = Annotated[str | None, of_setting("text", "Column of the text.  [default: as in training]")]
TextPair = Annotated[str | None, of_setting("text_pair", "Column of a second text.  [default: as in training]")]
Label = Annotated[str | None, of_setting("label", "Column of the label.  [default: as in training]")]
Encoding = Annotated[str, of_setting("encoding", "Encoding of csv and tsv files.")]
MaxLength = Annotated[int | None, of_setting("max_length", "Tokens read of a text.  [default: as in training]")]
Seed = Annotated[int, of_setting("seed", "Seed of the random numbers.")]
Device = Annotated[str, of_setting("device", "Device: auto, cpu or cuda.")]
Pieces = Annotated[str, Option(help="Score of a word of tokens: sum or max.")]
Precision = Annotated[str, Option(help="Number format: fp32, bf16 or auto.")]
Window = Annotated[int, Option(help="Rows held in memory at a time.")]
Prefix = Annotated[str, Option(help="Prefix of the names of the added columns.")]
SafeCsv = Annotated[bool, Option("--safe-csv", help="Write csv cells so that none is run as a formula.")]
Overwrite = Annotated[bool, Option("--overwrite", help="Replace an existing output.")]
Jobs = Annotated[int, Option(help="Runs at a time, each in a process.")]
Ray = Annotated[str | None, Option(metavar="ADDRESS", help="Ray cluster: local, auto, HOST:PORT.  [default: none]")]
Part = Annotated[str | None, Option(metavar="K/N", help="K-th of N parts of the work.  [default: Slurm's]")]
ReportTo = Annotated[
    str | None,
    Option(help="Trackers: tensorboard, mlflow, wandb, trackio.", rich_help_panel="Output"),
]
