"""Options that several commands share, options that are settings of a recipe, and the help: a line an option."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import Annotated, Any

from typer import Argument, CallbackParam, Exit, Option
from typer.core import TyperCommand

from salience.settings import as_option, settings_of
from salience.training.recipe import Recipe

NAME_WIDTH = 22  # columns of a catalogue's names
OPTION_WIDTH = 28  # columns of a help's options, at most
SHOWN_KINDS = {
    "<list[str]>": "TEXT",
    "<str>": "TEXT",
    "<int>": "N",
    "<float>": "NUMBER",
    "<path>": "PATH",
    "<int range>": "N",
}
DATA, TRAINING, OUTPUT = "Data", "Training", "Output"  # groups of the help of train and compare


class Command(TyperCommand):
    """A command whose help has a line for each option, in plain text, of which 80 columns break none.

    The options are in groups if the first argument is in one. Arguments have capital letters everywhere, as in the
    texts of the help.
    """

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        for parameter in self.params:
            if parameter.param_type_name == "argument" and parameter.metavar is None:
                parameter.metavar = str(parameter.name).upper()

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        groups: dict[str, list[tuple[str, str]]] = {}
        parameters = self.get_params(ctx)
        grouped = getattr(parameters[0], "rich_help_panel", None) is not None
        for parameter in parameters:
            if record := parameter.get_help_record(ctx):
                name, meaning = record[0], record[1].replace("[required]", "").strip()
                for kind, shown in SHOWN_KINDS.items():
                    name = name.replace(kind, shown)
                if parameter.param_type_name == "argument":
                    name = name.split()[0]
                group = getattr(parameter, "rich_help_panel", None) if grouped else None
                groups.setdefault(group or OUTPUT * (OUTPUT in groups), []).append((name, meaning))
        formatter.write_paragraph()
        for title, records in groups.items():
            if title:
                formatter.write_heading(title)
            with formatter.indentation():
                formatter.write_dl(records, col_max=OPTION_WIDTH)


def of_recipe(help: str, group: str | None = None, metavar: str | None = None, hidden: bool = False) -> Any:
    """An option that is the setting of its name in a recipe; its value is checked before anything is read.

    Hidden options are in docs/reference/settings.md alone.
    """

    def checked(parameter: CallbackParam, value: Any) -> Any:
        return None if value is None else settings_of(Recipe)[str(parameter.name)].checked(value, as_option)

    return Option(help=help, callback=checked, rich_help_panel=group, metavar=metavar, hidden=hidden)


def option(help: str, group: str, metavar: str | None = None, name: str | None = None) -> Any:
    """Another option in a group of the help; a flag has a name, so that it has no opposite."""
    return Option(*([name] if name else []), help=help, rich_help_panel=group, metavar=metavar)


def settings_in(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those arguments of a command that are settings of a recipe and were given."""
    return {name: arguments[name] for name in settings_of(Recipe) if arguments.get(name) is not None}


def catalogue(option: str, entries: str, rows: Callable[[], Iterable[tuple[str, str]]]) -> Any:
    """A flag that prints names with their meanings and ends the command. `rows` imports them only then."""

    def show(chosen: bool) -> None:
        if chosen:
            for name, meaning in rows():
                line = f"{name:{NAME_WIDTH}}{meaning}".rstrip()
                print(fill(line, get_terminal_size().columns, subsequent_indent=" " * NAME_WIDTH))
            raise Exit

    return Option(option, help=f"Print the {entries} and stop.", is_eager=True, callback=show)


def folder_for(source: str | list[str], suffix: str) -> Path:
    """The folder that is written if none is named: below `runs`, by the name of what is read, at most three files."""
    sources = [source] if isinstance(source, str) else source[:3]
    return Path("runs") / f"{'+'.join(Path(each).name.split('.')[0] or 'data' for each in sources)}-{suffix}"


# Of commands about a trained model.
Model = Annotated[str, Argument(help="Run folder, or any other trained classifier.")]
Text = Annotated[str | None, of_recipe("Column of the text.  [default: as in training]")]
TextPair = Annotated[str | None, of_recipe("Column of a second text.  [default: as in training]")]
Label = Annotated[str | None, of_recipe("Column of the label.  [default: as in training]")]
Encoding = Annotated[str, of_recipe("Encoding of csv and tsv files.")]
MaxLength = Annotated[int | None, of_recipe("Tokens read of each text.  [default: as in training]")]
Seed = Annotated[int, of_recipe("Seed of the random numbers.")]
Device = Annotated[str, of_recipe("Device: auto, cpu or cuda.")]
Pieces = Annotated[str, Option(help="Word score from tokens: sum or max.")]
Precision = Annotated[str, Option(help="Number format: fp32, bf16 or auto.")]
Window = Annotated[int, Option(help="Rows held in memory at a time.")]
Prefix = Annotated[str, Option(help="Prefix of the names of the added columns.")]
SafeCsv = Annotated[bool, Option("--safe-csv", help="Keep spreadsheets from running cells as formulas.")]
Overwrite = Annotated[bool, Option("--overwrite", help="Replace an existing output.")]

# Of commands that train: what is not given is left to the file of settings, or open.
GuessedText = Annotated[str | None, of_recipe("Column of the text.  [default: guessed]")]
GuessedLabel = Annotated[str | None, of_recipe("Column of the label.  [default: guessed]")]
TextColumn = Annotated[str | None, of_recipe("Column of the text.  [default: guessed]", DATA, "COLUMN")]
PairColumn = Annotated[str | None, of_recipe("Column of a second text.  [default: guessed]", DATA, "COLUMN")]
LabelColumn = Annotated[str | None, of_recipe("Column of the label, or columns of 0 and 1.", DATA, "COLUMN")]
LabelSeparator = Annotated[str | None, of_recipe("Separator of the labels of a text.", DATA)]
DataEncoding = Annotated[str | None, of_recipe("Character encoding of csv and tsv.  [default: utf-8]", DATA)]
EmptyLabel = Annotated[str | None, of_recipe("Empty multi-label cells: error or none.", DATA)]
BadRows = Annotated[str | None, of_recipe("Rows without text or label: error or skip.", DATA)]
AnySeed = Annotated[int | None, of_recipe("Seed of the random numbers.  [default: 0]", TRAINING)]
TrainingPrecision = Annotated[str | None, of_recipe("Number format: auto, fp32, bf16 or fp16.", TRAINING)]
TrainingDevice = Annotated[str | None, of_recipe("Device: auto, cpu or cuda.", TRAINING)]
Set = Annotated[list[str] | None, option("Any setting (docs/reference/settings.md).", TRAINING, "NAME=VALUE", "--set")]
Config = Annotated[Path | None, option("Yaml file of settings; options override it.", OUTPUT, "FILE")]
ReportTo = Annotated[str | None, option("Trackers: tensorboard, mlflow, wandb, trackio.", OUTPUT)]

# Of commands whose work can be divided.
Jobs = Annotated[int, Option(help="Runs at a time, each in a process.")]
Ray = Annotated[str | None, Option(metavar="ADDRESS", help="Ray cluster: local, auto, HOST:PORT.  [default: none]")]
Part = Annotated[str | None, Option(metavar="K/N", help="K-th of N parts of the work.  [default: Slurm's]")]
