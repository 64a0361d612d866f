"""A process that does the work of jobs. It imports nothing heavy before its environment variables are set."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from salience.jobs.job import Failure, Outcome, outcome_of
from salience.jobs.watching import watched
from salience.processes import keep_freed_memory, kill_with_parent

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
