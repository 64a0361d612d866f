"""Jobs in several processes on this machine, each with its share of the cores and, where there are some, a GPU."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from salience.errors import InputError
from salience.jobs.job import Failure, Outcome, Pool, Watch, outcome_of, watched
from salience.processes import connected, keep_freed_memory, kill_with_parent

# A process that does the work of jobs. It imports nothing heavy before its environment variables are set.

INTERVAL = 0.2  # seconds between two messages on the progress of a run


def serve(connection: Connection, variables: Mapping[str, str]) -> None:
    """Does the work that comes through the connection, and sends progress and outcomes back, until it is closed.

    Args:
        connection: to the process of the command.
        variables: environment variables, which are set before any library reads them.
    """
    os.environ.update(variables)
    keep_freed_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the command too, which ends this process
    end_with_command()
    while True:
        try:
            name, work = connection.recv()
        except EOFError:
            return
        with watched(Reports(connection.send)):
            outcome = outcome_of(name, work)
        try:
            connection.send(outcome)
        except OSError:
            return
        except Exception as error:  # a result that cannot be pickled
            connection.send(Outcome(name, failure=Failure.of(name, error)))


class Reports:
    """Sends the progress of a run, a few times a second at most.

    Args:
        send: called with (step, number of steps, loss).
    """

    def __init__(self, send: Callable[[tuple[int, int, float | None]], object]) -> None:
        self.send = send
        self.last = 0.0

    def __call__(self, step: int, steps: int, loss: float | None) -> None:
        """Sends step, number of steps and loss."""
        now = time.monotonic()
        if step >= steps or now - self.last >= INTERVAL:
            self.last = now
            self.send((step, steps, loss))


def end_with_command() -> None:
    """Ends this process when the command ends, even if that is killed: its runs are locked no more.

    Linux does it at once, also in the middle of a computation, so that this process cannot write beside a command that
    goes on with its run. On other systems a thread waits for the end of the command.
    """
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=exit_after, args=(parent,), daemon=True).start()
        if kill_with_parent() and os.getppid() != parent.pid:  # it had ended before
            os._exit(1)


def exit_after(parent: BaseProcess) -> None:
    """Waits until the process has ended, and ends this one."""
    parent.join()
    os._exit(1)


# One job at a time, in this process.


class Here:
    """A pool of one: the work is done in this process, when its outcome is asked for. It need not be picklable."""

    size = 1

    def __init__(self) -> None:
        self.submitted: tuple[str, Callable[[], Any]] | None = None

    def submit(self, name: str, work: Callable[[], Any]) -> None:
        """Keeps the work until `next` is called."""
        self.submitted = name, work

    def next(self, watch: Watch) -> Outcome:
        """Does the work."""
        assert self.submitted is not None
        name, work = self.submitted
        with watched(partial(watch, name)):
            return outcome_of(name, work)

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *failure: object) -> None:
        self.submitted = None


# Libraries that compute in several threads read these variables when they are loaded.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")


class Workers:
    """A pool of processes. A process that is killed fails its job only, and is replaced.

    Args:
        size: number of processes. Each computes in its share of this process's cores, or in as many threads as
            OMP_NUM_THREADS says, if the user has set it. If there are several GPUs, each process sees one.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.idle: list[Worker] = []
        self.busy: dict[str, Worker] = {}
        self.gpus = visible_gpus()
        threads = max(1, available_cores() // size)
        chosen = os.environ.get("OMP_NUM_THREADS")
        self.variables = {} if chosen else dict.fromkeys(THREAD_VARIABLES, str(threads))

    def submit(self, name: str, work: Callable[[], Any]) -> None:
        """Sends the work to a process that is idle, or to a new one."""
        self.idle = [worker for worker in self.idle if worker.process.is_alive()]
        worker = self.idle.pop() if self.idle else self.begin()
        self.busy[name] = worker
        worker.connection.send((name, work))

    def begin(self) -> Worker:
        """Starts a process. Of several GPUs, it sees the one that the fewest processes use."""
        if not self.gpus:
            return Worker(self.variables)
        taken = [worker.gpu for worker in self.busy.values()]
        gpu = min(self.gpus, key=taken.count)
        return Worker(self.variables | {"CUDA_VISIBLE_DEVICES": gpu}, gpu)

    def next(self, watch: Watch) -> Outcome:
        """Waits until a job ends. A process that ends before its job is the job's failure."""
        while True:
            names = {worker.connection: name for name, worker in self.busy.items()}
            for connection in wait(list(names)):
                name = names[connection]  # type: ignore[index]  # only connections are waited for
                worker = self.busy[name]
                try:
                    message = worker.connection.recv()
                except (EOFError, OSError):
                    del self.busy[name]
                    return Outcome(name, failure=Failure(name, worker.epitaph()))
                if isinstance(message, Outcome):
                    self.idle.append(self.busy.pop(name))
                    return message
                watch(name, *message)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *failure: object) -> None:
        for worker in [*self.idle, *self.busy.values()]:
            worker.end()


class Worker:
    """A process that does work as it is sent.

    Args:
        variables: environment variables that it is given.
        gpu: the GPU that it sees; None for all.
    """

    def __init__(self, variables: dict[str, str], gpu: str | None = None) -> None:
        self.gpu = gpu
        # A fork of a process in which torch has threads may hang.
        context = get_context("spawn")
        self.connection: Connection
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, variables), daemon=True)
        self.process.start()
        theirs.close()  # so that this end sees it when the process ends

    def epitaph(self) -> str:
        """One line on how the process has ended."""
        self.process.join()
        code = self.process.exitcode or 0
        if code < 0:
            return f"its process was ended by signal {-code}; signal 9 often means that the memory was used up"
        return f"its process ended with exit code {code} before the run was done"

    def end(self) -> None:
        """Ends the process, whatever it is doing."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def visible_gpus() -> list[str]:
    """The GPUs as CUDA_VISIBLE_DEVICES names them; empty if there is at most one."""
    from torch.cuda import device_count

    count = device_count()
    if count < 2:
        return []
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return named.split(",")[:count] if named else [str(number) for number in range(count)]


# Jobs as tasks of a Ray cluster, each with the resources of one run: a core, or a GPU where the cluster has some.

RETRIES = 2  # of a run whose process was killed, or whose machine was lost
POLL = 0.5  # seconds between two looks at the progress


class RayTasks:
    """A pool of tasks of a Ray cluster. A run whose process or machine is lost is made again on another one.

    The files that a run reads and writes must be at the same place on all machines: tasks run in the folder in which
    the command was started.

    Args:
        address: of the cluster, as `ray.init` takes it: "auto", "local", or HOST:PORT.
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

    def submit(self, name: str, work: Callable[[], Any]) -> None:
        """Sends the work to the cluster."""
        self.running[self.task.remote(name, work, os.getcwd(), self.progress)] = name

    def next(self, watch: Watch) -> Outcome:
        """Waits until a task ends."""
        import ray

        while True:
            ready, _ = ray.wait(list(self.running), timeout=POLL)
            for told in self.progress.get_nowait_batch(self.progress.qsize()):
                watch(*told)
            for task in ready:
                name = self.running.pop(task)
                try:
                    return ray.get(task)
                except ray.exceptions.RayError as error:
                    return Outcome(name, failure=Failure.of(name, InputError(f"Ray: {error}")))

    def __exit__(self, *failure: object) -> None:
        import ray

        for task in self.running:
            ray.cancel(task, force=True)
        self.connection.close()


def do(name: str, work: Callable[[], Any], folder: str, progress: Any) -> Outcome:
    """Does the work of a job on a machine of the cluster, in the folder of the command.

    Args:
        progress: a queue for the progress.
    """
    keep_freed_memory()
    try:
        os.chdir(folder)
    except OSError as error:
        return Outcome(name, failure=Failure(name, f"{folder} is not on every machine of the cluster ({error})"))
    with watched(Reports(partial(tell, progress, name))):
        return outcome_of(name, work)


def tell(progress: Any, name: str, told: tuple[int, int, float | None]) -> None:
    """Puts the progress of a run into the queue."""
    progress.put_nowait((name, *told))


# The choice between this process, several processes, and a cluster.


def pool_of(jobs: int = 1, ray: str | None = None) -> Pool:
    """The pool for `--jobs` and `--ray`.

    Args:
        jobs: number of processes; 1 does one job after the other in this process.
        ray: address of a Ray cluster; None for this machine.

    Raises:
        InputError: `jobs` is less than 1, or given for a cluster.
    """
    if jobs < 1:
        raise InputError(f"--jobs must be at least 1, not {jobs}")
    if ray is None:
        return Here() if jobs == 1 else Workers(jobs)
    if jobs > 1:
        raise InputError("--jobs is for this machine; --ray runs as many jobs as the cluster has cores or GPUs")
    return RayTasks(ray)
