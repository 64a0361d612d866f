"""`salience COMMAND`: the commands, one file each, and the conversion of errors to one line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Callable, Sequence

import typer

from salience._version import __version__
from salience.cli import analyse
from salience.cli.audit import audit
from salience.cli.compare import compare
from salience.cli.demo import demo
from salience.cli.demo_data import demo_data
from salience.cli.describe import describe
from salience.cli.explain import explain
from salience.cli.export import export
from salience.cli.faithfulness import faithfulness
from salience.cli.methods import methods
from salience.cli.options import Command
from salience.cli.predict import predict
from salience.cli.push import push
from salience.cli.report import report
from salience.cli.reproduce import reproduce
from salience.cli.settings import instead_of
from salience.cli.suggest import suggest
from salience.cli.train import train
from salience.errors import InputError, one_line, printable
from salience.processes import keep_freed_memory, world_size

USAGE, FAULT, INTERRUPTED = 2, 1, 130  # exit codes: invalid input, an error of salience, Ctrl-C
# How a command that was interrupted is continued; the others begin again.
CONTINUED = {
    "train": "; the same command with --resume continues the run",
    "compare": "; the same command continues the comparison",
    "reproduce": "; the same command continues the table",
}

app = typer.Typer(
    help="Train text classifiers on what matters in the text, and check that they do.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
COMMANDS: list[Callable] = [audit, train, describe, report, predict, suggest, export, push, compare, explain, demo,
                            demo_data, faithfulness, methods, reproduce]  # fmt: skip
for command in COMMANDS:
    app.command(cls=Command)(command)
app.add_typer(analyse.app, name="analyse")


@app.callback(invoke_without_command=True)
def common(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error; of every command."),
) -> None:
    """Options of the program itself, which come before the command."""
    if version:
        print(f"salience {__version__}")
        raise typer.Exit
    command = context.invoked_subcommand
    if command not in (None, "train") and world_size() > 1:
        raise InputError(
            f"salience {command} runs in a single process: start it without torchrun, which only salience train "
            "supports"
        )


def run(arguments: Sequence[str] | None = None) -> None:
    """The console script: runs a command and exits."""
    sys.exit(main(sys.argv[1:] if arguments is None else arguments))


def main(arguments: Sequence[str]) -> int:
    """Runs a command and returns its exit code. Every error is reported in one line on standard error.

    With `--debug` among the arguments, errors are raised with their traceback.
    """
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    quieten_libraries()
    share_cores()
    keep_freed_memory()
    try:
        code = app(args=arguments, prog_name="salience", standalone_mode=False) or 0
    except KeyboardInterrupt:  # since version 0.29, typer returns the exit code instead
        code = INTERRUPTED
    except Exception as error:
        if debug and not is_usage(error):
            raise
        return answer(error, arguments)
    return complain(interrupted(arguments), code) if code == INTERRUPTED else code


def command_of(arguments: Sequence[str]) -> str:
    """The name of the command; empty without one."""
    return next((argument for argument in arguments if not argument.startswith("-")), "")


def interrupted(arguments: Sequence[str]) -> str:
    """What is said after Ctrl-C, with how the command is continued where it can be."""
    return "interrupted" + CONTINUED.get(command_of(arguments), "")


def answer(error: Exception, arguments: Sequence[str]) -> int:
    """Reports in one line what went wrong and how to fix it. Returns the exit code."""
    if isinstance(error, InputError):
        return complain(str(error), USAGE)
    if type(error).__name__ == "NoArgsIsHelpError":  # typer's, whichever click it stands on: its message is the help
        print(message_of(error), file=sys.stderr)
        return USAGE
    if is_usage(error):
        option = getattr(error, "option_name", "") or ""
        given = [each.partition("=") for each in arguments]
        place = [name for name, _, _ in given].index(option) if option in (name for name, _, _ in given) else -1
        value = given[place][2] or "".join(arguments[place + 1 : place + 2]) if place >= 0 else ""
        instead = instead_of(option, value, command_of(arguments))
        return complain(instead or one_line(message_of(error)), USAGE)
    filename = getattr(error, "filename", None)
    if is_disk_full(error):
        where = f" {filename}" if filename else ""
        return complain(
            f"the disk is full: cannot write{where}; make room and run again, with --resume for training", USAGE
        )
    if isinstance(error, PermissionError):
        return complain(f"not allowed to use {filename}: choose another place or change its rights", USAGE)
    if isinstance(error, FileExistsError | NotADirectoryError):
        return complain(f"{filename} leads through a file, where a folder is needed: choose another place", USAGE)
    if isinstance(error, IsADirectoryError):
        return complain(f"{filename} is a folder, where a file is needed: choose another name", USAGE)
    if getattr(error, "errno", None) == errno.EROFS:
        return complain(f"nothing can be written at {filename}: choose another place", USAGE)
    if isinstance(error, ImportError) and not (error.name or "").startswith("salience"):
        return complain(
            f"a required package is missing or damaged: {one_line(error, 300)}; install it with pip "
            "(those of salience: pip install 'salience[offline,pictures,demo,captum,onnx]')",
            USAGE,
        )
    if isinstance(error, BrokenPipeError):
        # The reader of the output has stopped (`| head`). Buffered output must not raise an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAULT
    if isinstance(error, OSError):
        reason = one_line(error, 300)
        return complain(f"a file cannot be used ({reason}): check its path and its permissions, then run again", USAGE)
    reason = one_line(f"{type(error).__name__}: {error}")
    return complain(f"internal fault, please report it: {reason[:300]} (--debug shows the traceback)", FAULT)


def is_usage(error: Exception) -> bool:
    """Whether an error is one of typer, about the command line itself."""
    return hasattr(error, "format_message")


def message_of(error: Exception) -> str:
    """What typer says of a command line that is at fault, or its help."""
    return error.format_message()  # type: ignore[attr-defined]  # which class it has depends on typer's click


def is_disk_full(error: Exception) -> bool:
    """Whether nothing more can be written, on the whole disk or by this user."""
    # safetensors and arrow report the system's error as text
    numbers = (errno.ENOSPC, errno.EDQUOT)
    return getattr(error, "errno", None) in numbers or any(os.strerror(number) in str(error) for number in numbers)


def complain(message: str, code: int) -> int:
    """Prints an error message on standard error, and returns the exit code."""
    print(f"salience: {printable(message)}", file=sys.stderr)
    return code


def quieten_libraries() -> None:
    """Turns off progress bars and advice of other libraries, unless the user has asked for them."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    warnings.filterwarnings("ignore", module="transformers")


def share_cores() -> None:
    """Lets waiting OpenMP threads sleep instead of spin, unless the user has set OMP_WAIT_POLICY.

    On a machine that is also used for something else, a spinning thread takes the core from the thread that it waits
    for: a training step of half a second then takes several seconds.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


if __name__ == "__main__":
    run()
