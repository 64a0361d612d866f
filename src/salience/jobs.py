"""The runs of a comparison or a table: several at once, each made once, and a failed one leaves the others alone.

They are made in this process, in several processes on this machine, or as tasks of a Ray cluster.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol

from salience.errors import InputError, counted, one_line
from salience.files import Occupied, lock_of, locked, write_lines
from salience.processes import connected, keep_freed_memory, keep_imported, kill_with_parent

POLL = 1.0  # seconds between two looks at runs that other commands make
PATIENCE = 60  # seconds to wait for another command that changes the file of failed runs
INTERVAL = 0.2  # seconds between two looks at the progress, and between two messages on that of a run
RETRIES = 2  # of a run whose process was killed, or whose machine was lost
# Libraries that compute in several threads read these variables when they are loaded.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")

Work = Callable[[], Any]
Progress = Callable[[int, int, float | None], None]  # step, number of steps, loss
Watch = Callable[[str, int, int, float | None], None]  # the same of a job, after its name
_progress: ContextVar[Progress | None] = ContextVar("progress", default=None)


def watcher() -> Progress | None:
    """What a training of this process is to tell its step and its loss; None if nobody watches."""
    return _progress.get()


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    token = _progress.set(progress)
    try:
        yield
    finally:
        _progress.reset(token)


def at_times(send: Callable[[tuple[int, int, float | None]], object]) -> Progress:
    """A progress that sends (step, number of steps, loss) a few times a second at most, and the last step."""
    last = 0.0

    def progress(step: int, steps: int, loss: float | None) -> None:
        nonlocal last
        if step >= steps or time.monotonic() - last >= INTERVAL:
            last = time.monotonic()
            send((step, steps, loss))

    return progress


@dataclass(frozen=True)
class Failure:
    """A job that has failed: its name, one line that says why, and the traceback where an error was raised."""

    name: str
    error: str
    traceback: str = ""

    @classmethod
    def of(cls, name: str, error: Exception) -> Failure:
        line = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        return cls(name, one_line(line), "".join(traceback.format_exception(error)))


def result_of(name: str, work: Work) -> Any:
    """Does the work of a job in this process. An error of any kind is its failure."""
    try:
        return work()
    except Exception as error:
        return Failure.of(name, error)


# The jobs of a grid.


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

    def replace(self, names: Collection[str], *failures: Failure) -> None:
        """Removes the failures of some runs, which have succeeded since or have failed again, and adds others."""
        if not failures and not any(row["run"] in names for row in self.rows()):
            return
        with locked(self.file, PATIENCE):
            rows = [row for row in self.rows() if row["run"] not in names]
            rows += [{"run": each.name, "error": each.error, "traceback": each.traceback} for each in failures]
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
        new = [] if failure is None else [failure]
        log.replace({job.name}, *new)
        failures.extend(new)
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


# A pool does the work of several jobs at the same time, `size` at most. It is a context, at whose end all work stops.
# `submit` begins the work of a job. `next` waits until a job ends and gives its name, and its result or `Failure`;
# meanwhile it calls `watch` with the progress of the jobs under way.


class Here:
    """A pool of one: `next` does the work in this process. It need not be picklable."""

    size = 1

    def submit(self, name: str, work: Work) -> None:
        self.submitted = name, work

    def next(self, watch: Watch) -> tuple[str, Any]:
        name, work = self.submitted
        with watched(partial(watch, name)):
            return name, result_of(name, work)

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *failure: object) -> None: ...


class Workers:
    """A pool of processes. One that is killed is replaced, and its job is done again; after `RETRIES`, it has failed.

    Each computes in its share of this process's cores, or in as many threads as OMP_NUM_THREADS says. If there are
    several GPUs, each sees one.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.idle: list[Worker] = []
        self.busy: dict[Future[Any], Running] = {}
        self.gpus = visible_gpus()
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        chosen = os.environ.get("OMP_NUM_THREADS")
        self.variables = {} if chosen else dict.fromkeys(THREAD_VARIABLES, str(max(1, cores // size)))

    def submit(self, name: str, work: Work) -> None:
        self.start(name, work, RETRIES)

    def start(self, name: str, work: Work, retries: int) -> None:
        """Sends the work to a process that is idle, or to a new one on the GPU that the fewest processes use."""
        while self.idle:
            worker = self.idle.pop()
            if worker.process.is_alive():
                break
            worker.end()
        else:
            taken = [task.worker.gpu for task in self.busy.values()]
            worker = Worker(self.variables, min(self.gpus, key=taken.count) if self.gpus else None)
        self.busy[worker.executor.submit(result_in_worker, name, work)] = Running(name, work, worker, retries)

    def next(self, watch: Watch) -> tuple[str, Any]:
        while True:
            ended, _ = wait(self.busy, INTERVAL, FIRST_COMPLETED)
            for task in self.busy.values():
                with suppress(EOFError, OSError):  # the process has ended
                    while task.worker.progress.poll():
                        watch(task.name, *task.worker.progress.recv())
            for future in ended:
                task = self.busy.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    said = task.worker.end()
                    if task.retries:
                        self.start(task.name, task.work, task.retries - 1)
                        continue
                    return task.name, Failure(task.name, f"{said}; so did {RETRIES} more that tried again")
                except Exception as error:  # work or a result that cannot be pickled
                    result = Failure.of(task.name, error)
                self.idle.append(task.worker)
                return task.name, result

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *failure: object) -> None:
        for worker in [*self.idle, *(task.worker for task in self.busy.values())]:
            worker.end()


@dataclass(frozen=True)
class Running:
    """A job that a worker is doing, and how often it is done again if that is killed."""

    name: str
    work: Work
    worker: Worker
    retries: int


def result_in_worker(name: str, work: Work) -> Any:
    keep_imported()  # with the first work, what it needs has been imported
    return result_of(name, work)


class Worker:
    """An executor of one process, whose end breaks no other job. It sees one GPU, or with None all of them."""

    def __init__(self, variables: Mapping[str, str], gpu: str | None) -> None:
        self.gpu = gpu
        own = variables if gpu is None else {**variables, "CUDA_VISIBLE_DEVICES": gpu}
        context = get_context("spawn")  # a fork of a process in which torch has threads may hang
        self.progress, theirs = context.Pipe(duplex=False)
        others = set(active_children())
        self.executor = ProcessPoolExecutor(1, context, begin, (own, theirs))
        self.executor.submit(os.getpid)  # starts the process
        (self.process,) = set(active_children()) - others
        theirs.close()  # so that this end sees it when the process ends

    def end(self) -> str:
        """Ends the process, whatever it is doing; says how it has ended, if it had before."""
        self.process.kill()
        self.executor.shutdown()
        self.progress.close()
        code = self.process.exitcode or 0
        if code < 0:
            return f"its process was ended by signal {-code}; signal 9 often means that the memory was used up"
        return f"its process ended with exit code {code} before the run was done"


def begin(variables: Mapping[str, str], progress: Connection) -> None:
    """Prepares a process for its jobs, before it loads a library that reads the environment variables.

    It ends when the command ends, even if that is killed: its runs are locked no more. Linux does it at once, also in
    the middle of a computation, so that the process cannot write beside a command that goes on with its run. On other
    systems a thread waits for the end of the command.
    """
    os.environ.update(variables)
    keep_freed_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the command too, which ends this process
    parent = parent_process()
    assert parent is not None
    threading.Thread(target=exit_after, args=(parent,), daemon=True).start()
    if kill_with_parent() and os.getppid() != parent.pid:  # it had ended before
        os._exit(1)
    _progress.set(at_times(progress.send))


def exit_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def visible_gpus() -> list[str]:
    """The GPUs as CUDA_VISIBLE_DEVICES names them; empty if there is at most one."""
    from torch.cuda import device_count

    count = device_count()
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    numbers = named.split(",")[:count] if named else [str(number) for number in range(count)]
    return numbers if count > 1 else []


class RayTasks:
    """A pool of tasks of a Ray cluster, each with a core, or a GPU where the cluster has some.

    A run whose process or machine is lost is made again on another one. The files that a run reads and writes must be
    at the same place on all machines: tasks run in the folder in which the command was started.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.running: dict[Any, str] = {}  # reference of a task -> name of its job

    def __enter__(self) -> RayTasks:
        self.connection = ExitStack()
        self.connection.enter_context(connected(self.address))  # says what to install, if Ray is not there
        import ray
        from ray.util.queue import Queue

        found = ray.cluster_resources()
        gpus = int(found.get("GPU", 0))
        self.size = max(1, gpus or int(found.get("CPU", 1)))
        self.progress = Queue(actor_options={"num_cpus": 0})
        self.task = ray.remote(num_cpus=1, num_gpus=1 if gpus else 0, max_retries=RETRIES)(do)
        return self

    def submit(self, name: str, work: Work) -> None:
        self.running[self.task.remote(name, work, os.getcwd(), self.progress)] = name

    def next(self, watch: Watch) -> tuple[str, Any]:
        import ray

        while True:
            ready, _ = ray.wait(list(self.running), timeout=INTERVAL)
            for told in self.progress.get_nowait_batch(self.progress.qsize()):
                watch(*told)
            for task in ready:
                name = self.running.pop(task)
                try:
                    return name, ray.get(task)
                except ray.exceptions.RayError as error:
                    return name, Failure.of(name, InputError(f"Ray: {error}"))

    def __exit__(self, *failure: object) -> None:
        import ray

        for task in self.running:
            ray.cancel(task, force=True)
        self.connection.close()


def do(name: str, work: Work, folder: str, progress: Any) -> Any:
    """Does the work of a job on a machine of the cluster, in the folder of the command; `progress` is a queue."""
    keep_freed_memory()
    try:
        os.chdir(folder)
    except OSError as error:
        return Failure(name, f"{folder} is not on every machine of the cluster ({error})")
    with watched(at_times(lambda told: progress.put_nowait((name, *told)))):
        return result_of(name, work)


Pool = Here | Workers | RayTasks


def pool_of(jobs: int = 1, ray: str | None = None) -> Pool:
    """The pool for `--jobs`, a number of processes, and `--ray`, the address of a cluster."""
    if jobs < 1:
        raise InputError(f"--jobs must be at least 1, not {jobs}")
    if ray is None:
        return Here() if jobs == 1 else Workers(jobs)
    if jobs > 1:
        raise InputError("--jobs is for this machine; --ray runs as many jobs as the cluster has cores or GPUs")
    return RayTasks(ray)
