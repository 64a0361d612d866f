"""Running the jobs of a grid: none twice, several at once, and one that fails leaves the others alone."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from salience.files import Occupied, lock_of, locked
from salience.jobs.job import QUIET, Display, Failure, FailureLog, Job, Pool

POLL = 1.0  # seconds between two looks at runs that other commands make


def run_jobs(
    jobs: Sequence[Job],
    pool: Pool,
    log: FailureLog,
    display: Display = QUIET,
    ended: Callable[[Job, Failure | None], None] = lambda job, failure: None,
    note: Callable[[str], None] = lambda line: None,
) -> list[Failure]:
    """Makes the runs that are not there yet, in their order.

    A job is locked while its run is made. The run of a job that another command has locked is left to that command; it
    is made here only if the other command ends without a result.

    Args:
        jobs: the runs of the grid.
        pool: does their work.
        log: where failures are recorded.
        display: shows progress.
        ended: called with every job whose result is there, now or before; and with its failure, if it failed.
        note: called with a line of text where this command waits for another one.

    Returns:
        The failures, in the order in which they happened.
    """
    waiting, elsewhere = deque(jobs), deque[Job]()
    running: dict[str, tuple[Job, ExitStack]] = {}
    failures: list[Failure] = []
    told: set[str] = set()

    def end(job: Job, failure: Failure | None = None) -> None:
        display.end(job.name)
        if failure is None:
            log.remove(job.name)
        else:
            log.add(failure)
            failures.append(failure)
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
                outcome = pool.next(display.progress)
                job, lock = running.pop(outcome.name)
                if outcome.failure is None:
                    job.keep(outcome.result)
                lock.close()
                end(job, outcome.failure)
            elif elsewhere:
                time.sleep(POLL)
            if not waiting:
                waiting, elsewhere = elsewhere, waiting
    return failures


def claimed(job: Job) -> ExitStack | None:
    """The lock of a job whose run is to be made; None if its result is there.

    Raises:
        Occupied: another command is making the run.
    """
    if job.is_done() and not lock_of(job.lock).exists():
        return None
    # Another command may be about to release the lock, or was killed before it could: then its file is removed here.
    with ExitStack() as lock:
        lock.enter_context(locked(job.lock))
        return None if job.is_done() else lock.pop_all()
