"""One of several equal parts of a work, for processes that share it: `--part K/N`, or a task of a Slurm array."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from salience.errors import InputError, quoted

WHOLE = (1, 1)


def part_of(text: str | None, tell: Callable[[str], None] | None = None) -> tuple[int, int]:
    """(k, n) of "k/n": the k-th of n parts, from 1. Without a text, the part of this process in a Slurm array.

    Args:
        text: None stands for the task of the array, or for everything, (1, 1), where there is no array.
        tell: receives a line that says so, if the part comes from an array.

    Raises:
        InputError: the text is not k/n with k from 1 to n, or the tasks of the array are not numbered evenly.
    """
    if text is None:
        return part_of_array(tell)
    try:
        values = [int(number) for number in text.split("/")]
    except ValueError:
        raise InputError(f"{text!r} are no numbers; write --part 1/2") from None
    if len(values) != 2 or not 1 <= values[0] <= values[1]:
        raise InputError(f"--part {text}: write K/N with K from 1 to N, as in --part 1/2")
    return values[0], values[1]


def part_of_array(tell: Callable[[str], None] | None = None) -> tuple[int, int]:
    """The place of this process in a Slurm array and the array's size; (1, 1) outside an array.

    `sbatch --array=1-7:2` has the tasks 1, 3, 5 and 7; the task 5 gives (3, 4).

    Raises:
        InputError: the tasks are not numbered evenly, as with --array=1,2,7, or a variable is not a whole number.
    """
    if "SLURM_ARRAY_TASK_ID" not in os.environ:
        return WHOLE
    task, first, count = (variable(name) for name in ("ID", "MIN", "COUNT"))
    step = variable("STEP", "1")
    last = variable("MAX", str(first + (count - 1) * step))
    if step < 1 or (task - first) % step or not first <= task <= last or (last - first) // step + 1 != count:
        raise InputError(
            f"task {task} of a Slurm array of {count}, whose numbers are not evenly spaced: number them as in "
            "--array=1-8, or give --part K/N (--part 1/1 for everything)"
        )
    number = (task - first) // step + 1
    if tell is not None:
        tell(f"part {number} of {count}: task {task} of a Slurm array (--part K/N sets another part)")
    return number, count


def variable(name: str, default: str | None = None) -> int:
    """The number that Slurm sets as SLURM_ARRAY_TASK_`name`.

    Raises:
        InputError: it is not a whole number, or is missing and has no default.
    """
    name = f"SLURM_ARRAY_TASK_{name}"
    value = os.environ.get(name, default)
    try:
        return int(value or "")
    except ValueError:
        raise InputError(
            f"the environment variable {name} is {'missing' if value is None else quoted(value)}, where Slurm sets "
            "a whole number: give --part K/N (--part 1/1 for everything)"
        ) from None


def rows_of(part: tuple[int, int], count: int) -> range:
    """The rows of the k-th of n parts of `count` rows, from 0: contiguous, and of sizes that differ by at most one."""
    number, parts = part
    return range(count * (number - 1) // parts, count * number // parts)


def file_of(part: tuple[int, int], output: Path) -> Path:
    """The file of a part: out-03-of-16.csv for out.csv. It is `output` for the only part.

    The names of the parts sort in their order.
    """
    number, parts = part
    if part == WHOLE:
        return output
    return output.with_stem(f"{output.stem}-{number:0{len(str(parts))}}-of-{parts}")
