"""What jobs do in the tests. The functions are here, where a process that is started anew can import them."""

import json
import os
import signal
import time
from functools import partial
from pathlib import Path

from salience.errors import InputError
from salience.jobs import Job, watcher


def process_and_threads(folder: Path, name: str) -> tuple[int, str]:
    """Leaves a mark for every time that it is called."""
    with open(folder / "calls", "a") as file:
        file.write(f"{name}\n")
    time.sleep(0.05)
    return os.getpid(), os.environ.get("OMP_NUM_THREADS", "")


def tell_progress(steps: int) -> int:
    progress = watcher()
    for step in range(1, steps + 1):
        progress(step, steps, 1 / step)
    return steps


def fail() -> None:
    raise InputError("the file is\nnot there")


def break_down() -> None:
    raise ZeroDivisionError("by zero")


def be_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def be_killed_at_first(folder: Path, name: str) -> tuple[int, str]:
    done = process_and_threads(folder, name)
    if len((folder / "calls").read_text().splitlines()) < 3:
        be_killed()
    return done


def give_something_that_cannot_be_sent():
    return lambda: None


def take_long(folder: Path, name: str, seconds: float = 60) -> None:
    (folder / f"{name}.pid").write_text(str(os.getpid()))
    time.sleep(seconds)


def compute_long(folder: Path, name: str) -> None:
    """No other thread of the process can do anything meanwhile."""
    (folder / f"{name}.pid").write_text(str(os.getpid()))
    sum(range(10**12))


def job(folder: Path, name: str, does=None) -> Job:
    """A job whose result is a file."""
    file = folder / f"{name}.json"
    return Job(
        name, does or partial(process_and_threads, folder, name), is_done=file.exists,
        keep=lambda result: file.write_text(json.dumps(result)), lock=folder / name,
    )  # fmt: skip
