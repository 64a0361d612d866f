"""One run of a grid, and what becomes of it."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from salience.errors import InputError, counted, one_line
from salience.files import locked, write_lines

# How a run that is under way tells its step and its loss, wherever in the code it is trained.

Progress = Callable[[int, int, float | None], None]  # step, number of steps, loss

_progress: ContextVar[Progress | None] = ContextVar("progress", default=None)


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Inside the `with`, every training of this process tells `progress` its step and its loss."""
    token = _progress.set(progress)
    try:
        yield
    finally:
        _progress.reset(token)


def watcher() -> Progress | None:
    """What a training is to tell its progress; None if nobody watches."""
    return _progress.get()


Watch = Callable[[str, int, int, float | None], None]  # name of the job, step, number of steps, loss


class Display(Protocol):
    """Shows how far the jobs of a grid are."""

    def begin(self, jobs: int) -> None:
        """Called with the number of all jobs of the command, before the first one begins."""

    def progress(self, name: str, step: int, steps: int, loss: float | None) -> None:
        """Called while a job is under way."""

    def end(self, name: str) -> None:
        """Called when a job has ended, well or not."""


class Quiet:
    """A display that shows nothing."""

    def begin(self, jobs: int) -> None:
        """Shows nothing."""

    def progress(self, name: str, step: int, steps: int, loss: float | None) -> None:
        """Shows nothing."""

    def end(self, name: str) -> None:
        """Shows nothing."""


QUIET = Quiet()


@dataclass(frozen=True)
class Job:
    """One run of a grid, such as training one method with one seed.

    Args:
        name: what the run is called in messages; no other job of the grid has it.
        work: makes the run, in any process: without arguments, picklable, with a picklable result.
        is_done: whether the result is there already, because this or another command has made the run.
        keep: called with the result, in the process of the command.
        lock: the path that is locked while the run is made, so that no other command makes it at the same time.
    """

    name: str
    work: Callable[[], Any]
    is_done: Callable[[], bool]
    keep: Callable[[Any], None]
    lock: Path


@dataclass(frozen=True)
class Failure:
    """A run that has failed.

    Args:
        name: of the job.
        error: one line that says why.
        traceback: for developers; empty if a message is all that is known.
    """

    name: str
    error: str
    traceback: str = ""

    @classmethod
    def of(cls, name: str, error: Exception) -> Failure:
        """The failure of a job whose work raised an error."""
        line = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        return cls(name, one_line(line), "".join(traceback.format_exception(error)))


@dataclass(frozen=True)
class Outcome:
    """The end of a job: its result, or its failure.

    Args:
        name: of the job.
        result: what its work returned.
        failure: None if it succeeded.
    """

    name: str
    result: Any = None
    failure: Failure | None = None


class Pool(Protocol):
    """Something that does the work of several jobs at the same time. It is a context, at whose end all work stops."""

    size: int  # number of jobs at the same time

    def submit(self, name: str, work: Callable[[], Any]) -> None:
        """Begins the work of a job. At most `size` jobs are under way."""

    def next(self, watch: Watch) -> Outcome:
        """Waits until a job ends. `watch` is called with the progress of the jobs under way."""

    def __enter__(self) -> Pool: ...

    def __exit__(self, *failure: object) -> None: ...


def outcome_of(name: str, work: Callable[[], Any]) -> Outcome:
    """Does the work of a job here. An error of any kind is its failure."""
    try:
        return Outcome(name, work())
    except Exception as error:
        return Outcome(name, failure=Failure.of(name, error))


# The file of failed runs: a line of JSON for each, until the run succeeds.

PATIENCE = 60  # seconds to wait for another command that changes the file


class FailureLog:
    """The runs of a grid that have failed, in a file that several commands may change.

    Args:
        file: does not exist while there are no failures.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def add(self, failure: Failure) -> None:
        """Records a failure, in place of an earlier one of the same run."""
        line = {"run": failure.name, "error": failure.error, "traceback": failure.traceback}
        self._replace(failure.name, [line])

    def remove(self, name: str) -> None:
        """Removes the failure of a run that has succeeded since."""
        if any(row["run"] == name for row in self.rows()):
            self._replace(name, [])

    def rows(self) -> list[dict[str, str]]:
        """The failed runs.

        Raises:
            InputError: the file holds something else.
        """
        try:
            rows = [json.loads(line) for line in self.file.read_text(encoding="utf-8").split("\n") if line]
            if not all("run" in row for row in rows):
                raise ValueError("a line names no run")
        except FileNotFoundError:
            return []
        except (ValueError, TypeError) as error:
            raise InputError(f"{self.file} is not a list of failed runs ({error}): move it elsewhere") from error
        return rows

    def _replace(self, name: str, lines: list[dict[str, str]]) -> None:
        with locked(self.file, PATIENCE):
            rows = [row for row in self.rows() if row["run"] != name] + lines
            if rows:
                write_lines(self.file, rows)
            else:
                self.file.unlink(missing_ok=True)

    def check(self, failures: Sequence[Failure], runs: int) -> None:
        """Ends a command some of whose runs have failed.

        Args:
            failures: the failures of this command.
            runs: number of its runs.

        Raises:
            InputError: there are failures.
        """
        if failures:
            first = failures[0]
            raise InputError(
                f"{len(failures)} of {counted(runs, 'run')} failed; {first.name}: {first.error}. Every error is in "
                f"{self.file}; the same command makes only the failed runs again"
            )
