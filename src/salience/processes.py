"""The processes of a computation: the variables that launchers such as torchrun set, and the memory they keep."""

from __future__ import annotations

import ctypes
import os
import signal

from salience.errors import InputError, quoted

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # parameters of glibc's mallopt
PARENT_DEATH_SIGNAL = 1  # an operation of Linux's prctl
# Libraries read these variables too, and fail if one of them is set to an empty string.
VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


def world_size() -> int:
    """The number of processes that train together (WORLD_SIZE); 1 without a launcher.

    Raises:
        InputError: WORLD_SIZE is not a whole number.
    """
    return max(number("WORLD_SIZE", 1), 1)


def is_main_process() -> bool:
    """Whether this process prints and writes files (RANK 0). RANK is ignored if WORLD_SIZE is 1.

    Raises:
        InputError: RANK or WORLD_SIZE is not a whole number.
    """
    return world_size() == 1 or number("RANK", 0) == 0


def number(name: str, default: int) -> int:
    """The environment variable `name` as a whole number; `default` if it is not set or empty.

    Raises:
        InputError: it is not a whole number.
    """
    value = os.environ.get(name, "").strip()
    try:
        return int(value) if value else default
    except ValueError:
        raise InputError(
            f"the environment variable {name} is {quoted(value)}, not a whole number: launchers such as torchrun set "
            "it; unset it to train in one process"
        ) from None


def check_launcher() -> None:
    """Checks the variables that launchers set, and removes empty ones from the environment.

    Raises:
        InputError: a variable is not a whole number, or some of them are missing.
    """
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
    """Has the C library reuse large blocks of memory, where it can be told to (glibc).

    By default it gives blocks above 32 MiB, such as the gradient of a word-embedding table, back to the system when
    they are freed. Each new one is then cleared page by page, which takes 4 % of a training step on a CPU.
    """
    try:
        adjust = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library, or another system
        return
    adjust(MMAP_MAX, 0)  # all blocks are parts of one heap
    adjust(TRIM_THRESHOLD, -1)  # whose free end is kept


def kill_with_parent() -> bool:
    """Has the system kill this process when the one that has started it ends; whether it can be told to (Linux).

    The signal is sent when the thread ends that has started this process, see prctl(2).
    """
    try:
        control = ctypes.CDLL(None).prctl
    except (AttributeError, OSError, TypeError):  # another system
        return False
    return control(PARENT_DEATH_SIGNAL, signal.SIGKILL) == 0
