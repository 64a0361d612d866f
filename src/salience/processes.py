"""Which of several processes this one is: what torchrun and accelerate say in RANK and WORLD_SIZE."""

from __future__ import annotations

import os

from salience.errors import InputError, quoted

# What libraries read too, and take for numbers even where they are empty.
NUMBERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


def world_size() -> int:
    """The number of processes that train together; 1 without a launcher.

    Raises:
        InputError: WORLD_SIZE is not a number.
    """
    return max(number("WORLD_SIZE", 1), 1)


def is_main_process() -> bool:
    """Whether this process prints and writes files. RANK alone, without several processes, means nothing.

    Raises:
        InputError: RANK or WORLD_SIZE is not a number.
    """
    return world_size() == 1 or number("RANK", 0) == 0


def number(name: str, default: int) -> int:
    """The environment variable `name` as a number; `default` where it is not set or empty."""
    value = os.environ.get(name, "").strip()
    try:
        return int(value) if value else default
    except ValueError:
        raise InputError(
            f"the environment variable {name} is {quoted(value)}, not a whole number: launchers such as torchrun set "
            "it; unset it to train in one process"
        ) from None


def check_launcher() -> None:
    """Checks the variables that launchers set, and removes those that are set to nothing.

    Raises:
        InputError: a variable is not a number, or a part of them is missing.
    """
    for name in NUMBERS:
        number(name, 0)
        if not os.environ.get(name, "0").strip():
            del os.environ[name]
    if world_size() > 1 and not {"RANK", "LOCAL_RANK"} <= os.environ.keys():
        raise InputError(
            f"WORLD_SIZE is {world_size()}, but RANK and LOCAL_RANK are not set: start several processes with "
            "torchrun, or unset WORLD_SIZE to train in one"
        )
