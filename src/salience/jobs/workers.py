"""Jobs in several processes on this machine, each with its share of the cores and, where there are some, a GPU."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from salience.jobs.job import Failure, Outcome, Watch
from salience.jobs.worker import serve

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
