"""Running the cells of a table, each of which becomes a line of the results file, and printing the table."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
import transformers

from salience._version import __version__
from salience.errors import InputError
from salience.inference import choose_device
from salience.inference.devices import device_name
from salience.jobs import QUIET, Display, Failure, FailureLog, Job, pool_of, run_jobs
from salience.models.precision import check_precision, default_precision, resolve_precision
from salience.outputs import check_writable
from salience.reproduce.datasets import SOURCES, load
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
    *,
    precision: str = "auto",
    jobs: int = 1,
    ray: str | None = None,
    display: Display = QUIET,
) -> list[Row]:
    """Runs the cells that the results file lacks, then prints the table from all rows of the file.

    Everything that can be checked is checked before the first cell runs: the data sets, the cells, the file's rows,
    whether it can be written, and whether the table can be printed from what it holds. A cell that fails is recorded
    beside the file, in NAME.failures.jsonl, and the others go on.

    Args:
        data_dir: A folder of data sets; None reads them from the hub.
        sets: Data sets of the table; None for all.
        file: The results file; a missing one is created.
        part: (k, n) runs the k-th of n parts of the cells, for n processes; k starts at 1.
        say: Prints a line for every run, and the table.
        precision: Number format in which transformers are trained: "auto", "fp32" or "bf16".
        jobs: Number of cells that are run at the same time, each in a process of its own.
        ray: Address of a Ray cluster that runs the cells; None for this machine.
        display: Is told the progress of the cells.

    Returns:
        The rows of the file.

    Raises:
        InputError: A data set is not one of the table's, a seed is negative, the file holds something else, or cells
            have failed.
        TypeError, ValueError: The table's cells or a run's keys are not as declared.
    """
    cells = table.plan(table.sets if sets is None else sets, seeds)
    check_precision(precision)
    if ray is None:  # found out once, so that all cells have the same; machines of a cluster find it out themselves
        precision = resolve_precision(precision, choose_device("auto"))
    pool = pool_of(jobs, ray)
    results = Results(file, table.identity, table.keys, table.known)
    table.report(results.rows())
    check_writable(file)

    def job_of(cell: Any) -> Job:
        def keep(row: Row) -> None:
            results.add(row)
            say(f"{name}: {100 * row['accuracy']:.1f}")

        name = named(cell)
        digest = sha256(name.encode()).hexdigest()[:8]
        return Job(
            name, partial(measured, table, cell, data_dir, precision), partial(results.has, **asdict(cell)), keep,
            lock=file.with_name(f"{file.stem}.{digest}"),
        )  # fmt: skip

    def tell(job: Job, failure: Failure | None) -> None:
        if failure is not None:
            say(f"{job.name}: failed: {failure.error}")

    turn, parts = part
    chosen = cells[turn - 1 :: parts]
    for name in dict.fromkeys(cell.set for cell in chosen if not results.has(**asdict(cell))):
        if name in SOURCES:
            load(name, data_dir)
    mine = [job_of(cell) for cell in chosen]
    log = FailureLog(file.with_name(f"{file.stem}.failures.jsonl"))
    failures = run_jobs(mine, pool, log, display, tell, say)
    rows = results.rows()
    say(table.report(rows))
    log.check(failures, len(mine))
    return rows


def named(cell: Any) -> str:
    """A cell in words."""
    return ", ".join(f"{key} {value}" for key, value in asdict(cell).items())


def measured(table: Table[Any], cell: Any, data_dir: Path | None, precision: str = "auto") -> Row:
    """The row of one cell, with the machine and the versions."""
    with default_precision(precision):
        return table.row(cell, data_dir) | environment()


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
    """The device, the machine, the precision and the versions of a run, which every row records."""
    device = choose_device("auto")
    return {
        "device": device_name(device),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads",
        "precision": resolve_precision("auto", device),  # of transformers; models over words are in fp32
        "versions": f"salience {__version__}, torch {torch.__version__}, transformers {transformers.__version__}, "
        f"Python {platform.python_version()}",
    }
