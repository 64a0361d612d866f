"""Running the jobs of a grid: none twice, several at once, and one that fails leaves the others alone."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from salience.errors import InputError, counted
from salience.files import Occupied, lock_of, locked, write_lines
from salience.jobs.workers import Failure, Pool

POLL = 1.0  # seconds between two looks at runs that other commands make
PATIENCE = 60  # seconds to wait for another command that changes the file of failed runs


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

    def begin(self, *told: object) -> None: ...

    progress = end = begin


QUIET = Quiet()


@dataclass(frozen=True)
class Job:
    """One run of a grid, such as training one method with one seed."""

    name: str  # in messages; no other job of the grid has it
    work: Callable[[], Any]  # makes the run, in any process: picklable, with a picklable result
    is_done: Callable[[], bool]  # whether the result is there already, from this or another command
    keep: Callable[[Any], None]  # called with the result, in the process of the command
    lock: Path  # locked while the run is made, so that no other command makes it at the same time


class FailureLog:
    """The file of the failed runs, a line of JSON each until the run succeeds. Several commands may change it."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def rows(self) -> list[dict[str, str]]:
        try:
            rows = [json.loads(line) for line in self.file.read_text(encoding="utf-8").split("\n") if line]
            if not all("run" in row for row in rows):
                raise ValueError("a line names no run")
        except FileNotFoundError:
            return []
        except (ValueError, TypeError) as error:
            raise InputError(f"{self.file} is not a list of failed runs ({error}): move it elsewhere") from error
        return rows

    def replace(self, name: str, failure: Failure | None) -> None:
        """Records the failure of a run in place of an earlier one; None if it has succeeded since."""
        if failure is None and not any(row["run"] == name for row in self.rows()):
            return
        with locked(self.file, PATIENCE):
            rows = [row for row in self.rows() if row["run"] != name]
            if failure is not None:
                rows.append({"run": name, "error": failure.error, "traceback": failure.traceback})
            if rows:
                write_lines(self.file, rows)
            else:
                self.file.unlink(missing_ok=True)

    def check(self, failures: Sequence[Failure], runs: int) -> None:
        """Raises an `InputError` if a command with so many runs has had failures."""
        if failures:
            raise InputError(
                f"{len(failures)} of {counted(runs, 'run')} failed; {failures[0].name}: {failures[0].error}. Every "
                f"error is in {self.file}; the same command makes only the failed runs again"
            )


def run_jobs(
    jobs: Sequence[Job],
    pool: Pool,
    log: FailureLog,
    display: Display = QUIET,
    ended: Callable[[Job, Failure | None], None] = lambda job, failure: None,
    note: Callable[[str], None] = lambda line: None,
) -> list[Failure]:
    """Makes the runs that are not there yet, in their order, and returns the failures as they happened.

    A job is locked while its run is made. The run of a job that another command has locked is left to that command; it
    is made here only if the other command ends without a result.

    Args:
        ended: called with every job whose result is there, now or before; and with its failure, if it failed.
        note: called with a line of text where this command waits for another one.
    """
    waiting, elsewhere = deque(jobs), deque[Job]()
    running: dict[str, tuple[Job, ExitStack]] = {}
    failures: list[Failure] = []
    told: set[str] = set()  # the jobs that another command has

    def end(job: Job, failure: Failure | None = None) -> None:
        display.end(job.name)
        log.replace(job.name, failure)
        failures.extend([] if failure is None else [failure])
        ended(job, failure)

    display.begin(len(jobs))
    with ExitStack() as locks, pool:  # the pool ends first: no work goes on without its lock
        while waiting or running or elsewhere:
            while waiting and len(running) < pool.size:
                job = waiting.popleft()
                try:
                    lock = claimed(job)
                except Occupied:
                    elsewhere.append(job)
                    if job.name not in told:
                        note(f"{job.name}: another command is making this run")
                    told.add(job.name)
                    continue
                if lock is None:
                    end(job)
                else:
                    locks.push(lock)
                    running[job.name] = job, lock
                    pool.submit(job.name, job.work)
            if running:
                name, result = pool.next(display.progress)
                job, lock = running.pop(name)
                if not isinstance(result, Failure):
                    job.keep(result)
                lock.close()
                end(job, result if isinstance(result, Failure) else None)
            elif elsewhere:
                time.sleep(POLL)
            if not waiting:
                waiting, elsewhere = elsewhere, waiting
    return failures


def claimed(job: Job) -> ExitStack | None:
    """The lock of a job whose run is to be made; None if its result is there; `Occupied` if another command has it."""
    if job.is_done() and not lock_of(job.lock).exists():
        return None
    # Another command may be about to release the lock, or was killed before it could: then its file is removed here.
    with ExitStack() as lock:
        lock.enter_context(locked(job.lock))
        return None if job.is_done() else lock.pop_all()
