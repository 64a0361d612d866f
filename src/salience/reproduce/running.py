"""Running the cells of a table, each of which becomes a line of the results file, and printing the table."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import transformers

from salience._version import __version__
from salience.errors import InputError
from salience.outputs import check_writable
from salience.reproduce.results import Results
from salience.reproduce.table import Row, Table


def run_table(
    table: Table[Any],
    data_dir: Path | None,
    sets: Sequence[str] | None,
    seeds: Sequence[int],
    file: Path,
    part: tuple[int, int] = (1, 1),
    say: Callable[[str], None] = print,
) -> list[Row]:
    """Runs the cells that the results file lacks, then prints the table from all rows of the file.

    Everything that can be checked is checked before the first cell runs: the data sets, the cells, the file's rows,
    whether it can be written, and whether the table can be printed from what it holds.

    Args:
        data_dir: A folder of data sets; None reads them from the hub.
        sets: Data sets of the table; None for all.
        file: The results file; a missing one is created.
        part: (k, n) runs the k-th of n parts of the cells, for n processes; k starts at 1.
        say: Prints a line for every run, and the table.

    Returns:
        The rows of the file.

    Raises:
        InputError: A data set is not one of the table's, a seed is negative, or the file holds something else.
        TypeError, ValueError: The table's cells or a run's keys are not as declared.
    """
    cells = table.plan(table.sets if sets is None else sets, seeds)
    results = Results(file, table.identity, table.keys)
    table.report(results.rows())
    check_writable(file)
    turn, parts = part
    for cell in cells[turn - 1 :: parts]:
        if results.has(**asdict(cell)):
            continue
        row = table.row(cell, data_dir) | environment()
        results.add(row)
        say(", ".join(f"{key} {value}" for key, value in asdict(cell).items()) + f": {100 * row['accuracy']:.1f}")
    rows = results.rows()
    say(table.report(rows))
    return rows


def part_of(text: str) -> tuple[int, int]:
    """(k, n) of "k/n".

    Raises:
        InputError: The text is not k/n with k from 1 to n.
    """
    values = numbers(text, "/", "--part 1/2")
    if len(values) != 2 or not 1 <= values[0] <= values[1]:
        raise InputError(f"--part {text}: write K/N with K from 1 to N, as in --part 1/2")
    return values[0], values[1]


def numbers(text: str, separator: str, example: str, kind: type = int) -> list:
    """The numbers of a text, which `separator` separates.

    Raises:
        InputError: Something else stands there; the message shows the example.
    """
    try:
        return [kind(number) for number in text.split(separator)]
    except ValueError:
        raise InputError(f"{text!r} are no numbers; write {example}") from None


def environment() -> dict[str, str]:
    """The machine and the versions of a run, which every row records."""
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads",
        "versions": f"salience {__version__}, torch {torch.__version__}, transformers {transformers.__version__}, "
        f"Python {platform.python_version()}",
    }
