"""Jobs as tasks of a Ray cluster, each with the resources of one run: a core, or a GPU where the cluster has some."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from salience.cluster import connected
from salience.errors import InputError
from salience.jobs.job import Failure, Outcome, Watch, outcome_of
from salience.jobs.watching import watched
from salience.jobs.worker import Reports
from salience.processes import keep_freed_memory

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
