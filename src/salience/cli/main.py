"""`salience COMMAND`: the commands, one file each, and the conversion of errors to one line and an exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from threading import current_thread, main_thread
from typing import Any, TextIO

import typer

from salience._version import __version__
from salience.cli import analyse
from salience.cli.options import Command
from salience.cli.settings import instead_of
from salience.errors import InputError, InputWarning, one_line, printable
from salience.processes import is_main_process, keep_freed_memory, world_size
from salience.work import Display, shown

# Each is a function in a file of its name.
COMMANDS = (
    "audit", "encoders", "train", "describe", "report", "test", "thresholds", "predict", "distill", "suggest",
    "export", "push", "compare", "explain", "correct", "demo", "demo_data", "faithfulness", "methods", "reproduce",
)  # fmt: skip
# Exit codes: invalid input, an error of salience, Ctrl-C, SIGTERM
USAGE, FAULT, INTERRUPTED, TERMINATED = 2, 1, 130, 143
# How a command that was interrupted is continued; `predict` says it itself, and the others begin again.
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
for name in COMMANDS:
    app.command(cls=Command)(getattr(import_module(f"salience.cli.{name}"), name))
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


@cache
def program() -> Callable[..., int | None]:
    """The commands with the options that their signatures declare, which takes 0.1 s to read."""
    return typer.main.get_command(app)


def run() -> None:
    """The console script: runs a command and exits."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Runs a command and returns its exit code. Every error is reported in one line on standard error.

    With `--debug` among the arguments, errors are raised with their traceback.
    """
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    if arguments == ["version"]:
        arguments = ["--version"]
    command = next((argument for argument in arguments if not argument.startswith("-")), "")
    set_environment()
    keep_freed_memory()
    if sys.stderr is None:  # where it is closed, `print` would write notes among the data on standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # until the process ends
    if sys.stdout is None:  # a file that is opened next would get its number, and what libraries print
        return complain("standard output is closed (>&-): redirect it to a file or /dev/null, then run again", USAGE)
    if isinstance(sys.stdout, TextIOWrapper):  # text for people; data are written as UTF-8
        sys.stdout.reconfigure(errors="backslashreplace")
    stopped_by: list[int] = []
    try:
        with input_warnings(), interrupted_by_sigterm(stopped_by), shown(progress):
            code = program()(args=arguments, prog_name="salience", standalone_mode=False) or 0
        sys.stdout.flush()
    except KeyboardInterrupt:  # since version 0.29, typer returns the exit code instead
        code = INTERRUPTED
    except SystemExit as stopped:  # what typer and rich make of a `BrokenPipeError`
        if not isinstance(stopped.__context__, BrokenPipeError):
            raise
        return no_reader(command)
    except BrokenPipeError:
        return no_reader(command)
    except Exception as error:
        # Errors of typer, about the command line itself; which class they have depends on typer's click.
        message_of = getattr(error, "format_message", None)
        if message_of is None and debug:
            raise
        if message_of is None:
            return answer(error)
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help
            print(message_of(), file=sys.stderr)
            return USAGE
        option = getattr(error, "option_name", "") or ""
        return complain(instead_of(option, value_of(option, arguments), command) or with_usage(error), USAGE)
    if code != INTERRUPTED:
        return code
    how = "terminated" if stopped_by else "interrupted"
    return complain(how + CONTINUED.get(command, ""), TERMINATED if stopped_by else INTERRUPTED)


def progress() -> Display:
    """What shows the work of a command, made where there is some."""
    from salience.report.progress import Shown

    return Shown(quiet=not is_main_process(), stderr=True)


@contextmanager
def interrupted_by_sigterm(came: list[int]) -> Iterator[None]:
    """Inside the `with`, SIGTERM ends a command as Ctrl-C does, and is added to `came`.

    Of processes that train together, a waiting one would not see it: they end at once, as does what has its own way.
    """

    def end(number: int, frame: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    alone = current_thread() is main_thread() and world_size() == 1
    if not alone or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def with_usage(error: Any) -> str:
    """The message of an error of the command line; where an argument is missing, with what is to be written."""
    message = one_line(error.format_message())
    if type(error).__name__ != "MissingParameter":
        return message
    pieces = error.ctx.command.collect_usage_pieces(error.ctx)
    return f"{message.rstrip('.')}: write {' '.join([error.ctx.command_path, *pieces])}"


def value_of(option: str, arguments: Sequence[str]) -> str:
    """The value of an option that is written as --option=value or --option value; empty if there is none."""
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == option:
            return value if equals else "".join(arguments[place + 1 : place + 2])
    return ""


def answer(error: Exception) -> int:
    """Reports in one line what went wrong and how to fix it. Returns the exit code."""
    if isinstance(error, InputError):
        return complain(str(error), USAGE)
    reason = one_line(error, 300)

    def means(*numbers: int) -> bool:
        """Whether the system refused for one of these reasons; safetensors, tokenizers and arrow say so in text."""
        return getattr(error, "errno", None) in numbers or any(os.strerror(each) in str(error) for each in numbers)

    if means(errno.ENOSPC, errno.EDQUOT):
        place = f" {filename}" if (filename := getattr(error, "filename", None)) else ""
        return complain(
            f"the disk is full: cannot write{place}; make room and run again, with --resume after train and predict",
            USAGE,
        )
    if isinstance(error, ImportError) and not (error.name or "").startswith("salience"):
        return complain(f"a required package is missing or damaged: {reason}; pip install it again", USAGE)
    if isinstance(error, OSError) or means(errno.EACCES, errno.EROFS):
        return complain(
            f"a file cannot be used ({reason}): check its path and its permissions, or choose another place, then run "
            "again",
            USAGE,
        )
    reason = one_line(f"{type(error).__name__}: {error}", 300)
    return complain(f"internal fault, please report it: {reason} (--debug shows the traceback)", FAULT)


def no_reader(command: str) -> int:
    """Reports that the reader of the output has stopped, as `| head` does. Returns the exit code."""
    discard_rest(sys.stdout)
    return complain(f"the reader of the output has stopped before its end{CONTINUED.get(command, '')}", FAULT)


def discard_rest(stream: TextIO) -> None:
    """What is left in the buffer of a stream that cannot be written goes nowhere: it raises no error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def complain(message: str, code: int) -> int:
    """Prints an error message on standard error, and returns the exit code."""
    with suppress(OSError):  # nobody reads it
        print(f"salience: {printable(message)}", file=sys.stderr)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            discard_rest(stream)
    return code


@contextmanager
def input_warnings() -> Iterator[None]:
    """Inside the `with`, each warning about what the user gives is a line on standard error, once."""
    told = set()
    with warnings.catch_warnings():
        show_other = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, InputWarning):
                show_other(message, category, *place, **more)
            elif (line := str(message)) not in told:
                told.add(line)
                print(printable(line), file=sys.stderr)

        warnings.showwarning = show
        yield


def set_environment() -> None:
    """Turns off progress bars and advice of other libraries, unless the user has asked for them.

    Waiting OpenMP threads sleep instead of spin: on a machine that is also used for something else, a spinning thread
    takes the core from the thread that it waits for, and a training step of half a second takes several seconds.
    """
    wanted = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
              "TRANSFORMERS_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "true"}  # fmt: skip
    if "OMP_WAIT_POLICY" not in os.environ:
        wanted["GOMP_SPINCOUNT"] = "1000"
    for variable, value in wanted.items():
        os.environ.setdefault(variable, value)
    warnings.filterwarnings("ignore", module="transformers")


if __name__ == "__main__":
    run()
