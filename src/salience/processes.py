"""Processes: the variables of launchers, freed memory, parts of a work that processes share, and the Ray cluster."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from salience.errors import InputError, one_line, pip_install, quoted

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # parameters of glibc's mallopt
PARENT_DEATH_SIGNAL = 1  # an operation of Linux's prctl
# Libraries read these variables too, and fail if one of them is set to an empty string.
VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
WHOLE = (1, 1)  # the only part of a work
PATIENCE = 5  # seconds for an answer of a Ray cluster


def world_size() -> int:
    """The number of processes that train together (WORLD_SIZE); 1 without a launcher."""
    return max(number("WORLD_SIZE", 1), 1)


def is_main_process() -> bool:
    """Whether this process prints and writes files (RANK 0). RANK is ignored if WORLD_SIZE is 1."""
    return world_size() == 1 or number("RANK", 0) == 0


def number(name: str, default: int) -> int:
    """The environment variable `name` as a whole number; `default` if it is not set or empty."""
    value = os.environ.get(name, "").strip()
    try:
        return int(value) if value else default
    except ValueError:
        raise InputError(
            f"the environment variable {name} is {quoted(value)}, not a whole number: launchers such as torchrun set "
            "it; unset it to train in one process"
        ) from None


def leave_group() -> None:
    """Ends the threads by which this process talked to others: with one left at its end, Python may abort."""
    if world_size() > 1:
        from torch import distributed  # which is slow to import

        if distributed.is_initialized():
            distributed.destroy_process_group()
        gc.collect()  # the threads end with the last reference, which the wrapper of a trained model has in a cycle


def check_launcher() -> None:
    """Checks the variables that launchers set, and removes empty ones from the environment."""
    for name in VARIABLES:
        number(name, 0)
        if not os.environ.get(name, "0").strip():
            del os.environ[name]
    if world_size() > 1 and not {"RANK", "LOCAL_RANK"} <= os.environ.keys():
        raise InputError(
            f"WORLD_SIZE is {world_size()}, but RANK and LOCAL_RANK are not set: start several processes with "
            "torchrun, or unset WORLD_SIZE to train in one"
        )


def keep_freed_memory() -> None:
    """Has the C library reuse large blocks of memory, where it can be told to (glibc)."""
    # By default it gives blocks above 32 MiB, such as the gradient of a word-embedding table, back to the system when
    # they are freed. Each new one is then cleared page by page, which takes 4 % of a training step on a CPU.
    try:
        adjust = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library, or another system
        return
    adjust(MMAP_MAX, 0)  # all blocks are parts of one heap
    adjust(TRIM_THRESHOLD, -1)  # whose free end is kept


@cache  # what a later command of the process leaves behind may be garbage
def keep_imported() -> None:
    """Tells the collector that what is there now, which is what was imported, will never be garbage.

    Each training begins with a collection, which takes 0.35 s if it looks through the imported packages. Only commands
    call this: in a process of the user, what is there may well become garbage.
    """
    gc.freeze()


@contextmanager
def importing() -> Iterator[None]:
    """Inside the `with`, packages are imported and nothing is collected; then they are kept as above.

    Importing torch and transformers makes 800,000 objects that stay, and the collector would look through them 1,300
    times, which takes a tenth of the import.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
    keep_imported()


def kill_with_parent() -> bool:
    """Has Linux kill this process when the thread ends that has started it, see prctl(2); False on other systems."""
    try:
        control = ctypes.CDLL(None).prctl
    except (AttributeError, OSError, TypeError):  # another system
        return False
    return control(PARENT_DEATH_SIGNAL, signal.SIGKILL) == 0


def part_of(text: str | None, tell: Callable[[str], None] | None = None) -> tuple[int, int]:
    """(k, n) of "k/n": the k-th of n equal parts of a work, from 1. Without a text, that of a task of a Slurm array.

    `sbatch --array=1-7:2` has the tasks 1, 3, 5 and 7; the task 5 gives (3, 4), and `tell` receives a line that says
    so. Without an array it is `WHOLE`.
    """
    if text is not None:
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        number, parts = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= parts:
            raise InputError(f"--part {text}: write K/N with K from 1 to N, as in --part 1/2")
        return number, parts
    if "SLURM_ARRAY_TASK_ID" not in os.environ:
        return WHOLE
    task, first, count = (_whole_of_slurm(name) for name in ("ID", "MIN", "COUNT"))
    step = _whole_of_slurm("STEP", "1")
    last = _whole_of_slurm("MAX", str(first + (count - 1) * step))
    if step < 1 or (task - first) % step or not first <= task <= last or (last - first) // step + 1 != count:
        raise InputError(
            f"task {task} of a Slurm array of {count}, whose numbers are not evenly spaced: number them as in "
            "--array=1-8, or give --part K/N"
        )
    place = (task - first) // step + 1
    if tell is not None:
        tell(f"part {place} of {count}: task {task} of a Slurm array (--part K/N sets another part)")
    return place, count


def _whole_of_slurm(name: str, default: str = "missing") -> int:
    value = os.environ.get(f"SLURM_ARRAY_TASK_{name}", default)
    try:
        return int(value)
    except ValueError:
        raise InputError(
            f"the environment variable SLURM_ARRAY_TASK_{name} is {quoted(value)}, where Slurm sets a whole number: "
            "give --part K/N (--part 1/1 for everything)"
        ) from None


def rows_of(part: tuple[int, int], count: int) -> range:
    """The rows, from 0, of the k-th of n parts of `count` rows: contiguous, and of nearly equal size."""
    number, parts = part
    return range(count * (number - 1) // parts, count * number // parts)


def file_of(part: tuple[int, int], output: Path) -> Path:
    """The file of a part: out-03-of-16.csv for out.csv, and `output` for the only part."""
    number, parts = part
    if part == WHOLE:
        return output
    return output.with_stem(f"{output.stem}-{number:0{len(str(parts))}}-of-{parts}")


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Inside the `with`, this process is connected to a Ray cluster. Ray says nothing on the terminal.

    "local" starts a cluster on this machine, which ends with the `with`; "auto" is the cluster that runs on this
    machine; other addresses are HOST:PORT or ray://HOST:PORT.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise InputError(f"--ray needs the package ray: {pip_install('cluster')}") from error
    problem = f"--ray {address}: no Ray cluster answers there"
    if address not in ("local", "auto"):  # Ray itself would try for a minute, and then end this process
        host, _, port = address.rpartition("://")[2].rpartition(":")
        try:
            socket.create_connection((host, int(port)), PATIENCE).close()
        except (OSError, ValueError, OverflowError) as error:
            raise InputError(f"{problem} ({error}): write local, auto, or HOST:PORT of a head node") from error
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=True)
    except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
        raise InputError(
            f"{problem} ({one_line(error, 200)}): check the address, and the token if the cluster asks for one "
            "(RAY_AUTH_MODE)"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()
