"""Adding the runs of other results files, as of another machine, to the results file of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from salience.errors import InputError, counted
from salience.outputs import check_writable
from salience.reproduce.results import Results
from salience.reproduce.running import named
from salience.reproduce.table import Row, Table


def merge_results(
    table: Table[Any], sets: Sequence[str] | None, seeds: Sequence[int], file: Path, others: Sequence[Path],
    say: Callable[[str], None] = print,
) -> list[Row]:  # fmt: skip
    """Adds the runs that the results file lacks, prints the table, and lists the cells that no file has. Runs nothing.

    Args:
        sets: Data sets whose cells are looked for; None for all of the table.
        seeds: Whose cells are looked for.
        file: The results file; a missing one is created.
        others: The files whose runs are added.
        say: Prints a line.

    Returns:
        The rows of the results file.

    Raises:
        InputError: A data set is not one of the table's, a seed is negative, one of the other files is missing, or a
            file holds something else.
    """
    cells = table.plan(table.sets if sets is None else sets, seeds)
    for other in others:
        say(f"{other}: {counted(add_runs(table, file, other), 'run')} added to {file}")
    rows = by_cell(table, file)
    lacking = [named(cell) for cell in cells if astuple(cell) not in rows]
    summary = f"{file} lacks {len(lacking):,} of {counted(len(cells), 'run')}"
    for line in [*table.report([*rows.values()]).splitlines(), summary, *lacking]:
        say(line)
    return [*rows.values()]


def add_runs(table: Table[Any], file: Path, other: Path) -> int:
    """Adds the runs of another results file that `file` lacks, and gives their number."""
    if not other.is_file():
        raise InputError(f"--merge {other}: there is no such file")
    known = by_cell(table, file)
    new = [row for cell, row in by_cell(table, other).items() if cell not in known]
    table.report([*known.values(), *new])
    check_writable(file)
    results = Results(file, table.identity, table.keys, table.known)
    for row in new:
        results.add(row)
    return len(new)


def by_cell(table: Table[Any], file: Path) -> dict[tuple[Any, ...], Row]:
    """The rows of a results file by the fields of their cells."""
    rows = Results(file, table.identity, table.keys, table.known).rows()
    return {tuple(row[name] for name in table.identity): row for row in rows}
