"""One run of a grid, and what becomes of it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from salience.errors import InputError, one_line

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
