"""A paper's table as one value: its runs, what a run records, how it is printed and drawn.

The runs of a table are the lines of a results file, so that an interrupted table continues where it stopped.
"""

from __future__ import annotations

import errno
import json
import os
import platform
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields, is_dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import torch
import transformers

from salience._version import __version__
from salience.classify import choose_device
from salience.errors import InputError, counted, listed, quoted, unknown
from salience.files import check_writable, locked
from salience.jobs import QUIET, Display, Failure, FailureLog, Job, pool_of, run_jobs
from salience.models.precision import check_precision, default_precision, resolve_precision
from salience.papers.datasets import SOURCES, load
from salience.papers.tables import table_named

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PATIENCE = 60  # seconds to wait for another process that adds a line
CPU_INFO = Path("/proc/cpuinfo")

Row = dict[str, Any]  # one run: the fields of its cell, then what was measured
CellT = TypeVar("CellT", bound="DataclassInstance")


class Results:
    """A results file with a line of JSON for every run, to which several processes may add.

    The file is changed only by `add`, which first removes an incomplete last line, left by a kill or a full disk. A
    run that two processes have both made, and that is in the file twice, counts once.

    Args:
        identity: the fields that tell one run from another, in the order in which every line begins with them;
            without them every line is a run of its own.
        keys: the further fields that every run must have.
        known: by field, the values that it can have, if they are known.
        others: runs of other files that count as well.
    """

    def __init__(
        self, file: str | Path, identity: Sequence[str] = (), keys: Sequence[str] = (),
        known: Mapping[str, Collection[Any]] | None = None, others: Sequence[Row] = (),
    ):  # fmt: skip
        self.file, self.identity, self.keys, self.known = Path(file), tuple(identity), tuple(keys), known or {}
        self.others = others

    def rows(self) -> list[Row]:
        """The runs, in the file's order, then those of other files.

        Raises:
            InputError: a line is not a result of this table; the message names it.
        """
        return list(self.by_cell().values())

    def by_cell(self) -> dict[tuple[Any, ...], Row]:
        """The runs by the fields of their cells, or by their line where there are none. Raises as `rows`."""
        try:
            text = self.file.read_text(encoding="utf-8") if os.path.lexists(self.file) else ""
        except UnicodeDecodeError as error:
            raise InputError(f"{self.file}: {error}; this is not a results file, name another one") from error
        *lines, incomplete = text.split("\n")
        beginning = f'{{"{self.identity[0]}": ' if self.identity else "{"
        if not lines and incomplete[: len(beginning)] != beginning[: len(incomplete)]:
            raise self._foreign(1, self.identity)
        rows: dict[tuple[Any, ...], Row] = {}
        for number, line in enumerate(lines, 1):
            row = self._checked(line, number)
            rows.setdefault(tuple(row[name] for name in self.identity) if self.identity else (number,), row)
        for row in self.others:
            rows.setdefault(tuple(row[name] for name in self.identity), row)
        return rows

    def has(self, **wanted) -> bool:
        """Whether one run has all these values."""
        return any(wanted.items() <= row.items() for row in self.rows())

    def add(self, row: Row) -> None:
        """Writes a line.

        Raises:
            InputError: the file holds something else.
            OSError: the disk is full; the file is then as before.
        """
        line = f"{json.dumps(row)}\n".encode()
        with locked(self.file, PATIENCE):
            self.rows()  # refuses a file of something else
            with open(self.file, "ab+", buffering=0) as file:
                file.seek(0)
                end = file.read().rfind(b"\n") + 1
                file.truncate(end)
                if file.write(line) < len(line):
                    file.truncate(end)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.file))

    def _checked(self, line: str, number: int) -> Row:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{self.file}: line {number} is not JSON ({error}); remove the line, and its run is made again"
            ) from error
        if not isinstance(row, dict):
            raise self._foreign(number, self.identity)
        if missing := [name for name in (*self.identity, *self.keys) if name not in row]:
            raise self._foreign(number, missing)
        for name, values in self.known.items():
            if row[name] not in values:
                raise InputError(
                    f"{self.file}: line {number} is a run of another table, whose {name} is {quoted(str(row[name]))}: "
                    "name another file with --results"
                )
        return row

    def _foreign(self, line: int, missing: Sequence[str]) -> InputError:
        lacks = f", it lacks {listed(map(quoted, missing))}" if missing else ""
        return InputError(
            f"{self.file}: line {line} is not a result of this table{lacks}: name another file with --results"
        )


@dataclass(frozen=True)
class Cell:
    """One run of a table that has one run for every data set and seed."""

    set: str
    seed: int


def every_set_and_seed(sets: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
    """The cells of such a table, seed by seed, so that an interrupted table has already compared all sets."""
    return [Cell(name, seed) for seed in seeds for name in sets]


@dataclass(frozen=True)
class Table(Generic[CellT]):
    """A table or figure of a paper that `salience reproduce` runs.

    The declaration is checked when the value is made, the cells before the first of them runs (`plan`), and every
    result before it is stored (`row`).

    Args:
        name: the name on the command line and of the results file.
        paper: the reference, with an arXiv id or DOI where there is one.
        published: by data set, what the paper reports, in any form. The keys are the table's data sets.
        cell: the type of the cells, a frozen dataclass with the fields `set` and `seed`. Its fields identify a run in
            the results file.
        keys: what `run` records and `report` or `pictures` read; "accuracy" is always one of them.
        cells: (sets, seeds) -> the runs, in the order in which they are made.
        run: (cell, data folder or None for the hub) -> the measurements of one run, with all `keys`, as JSON values.
        report: rows -> the table as markdown. The rows may be those of an incomplete table.
        pictures: (rows, folder) -> the names of the pictures that it writes there, without suffix. None: the table
            has no pictures.
        resized: numbers of training rows -> the table with training sets of these sizes. None: the table has one size.
        of_model: the name of an encoder -> the table with this one. None: the table is of its own models.
        of_method: a mixing method with its options, as "dropmix-g:ratio=0.3" -> the table of this one. None: the table
            is of its own methods.
        counting: the folder of the results file -> runs of other tables there that count as well. Such a table is
            printed without a data folder, and run with one. None: the table has its own runs only.
        ordered: (cells, rows) -> the cells in the order in which they are made, where that depends on the runs so far.
            None: the order of `cells`.
        known: by field of a cell, the values that it can have, by which runs of another table are told.

    Raises:
        TypeError: `cell` is not a dataclass with the fields `set` and `seed`.
        ValueError: no data set is published, or `keys` repeats a name, takes one of a cell's or lacks "accuracy".
    """

    name: str
    paper: str
    published: Mapping[str, Any]
    cell: type[CellT]
    keys: tuple[str, ...]
    cells: Callable[[Sequence[str], Sequence[int]], list[CellT]]
    run: Callable[[CellT, Path | None], Row]
    report: Callable[[list[Row]], str]
    pictures: Callable[[list[Row], Path], Iterable[str]] | None = None
    resized: Callable[[Sequence[int]], Table[CellT]] | None = None
    of_model: Callable[[str], Table[CellT]] | None = None
    of_method: Callable[[str], Table[CellT]] | None = None
    counting: Callable[[Path], list[Row]] | None = None
    ordered: Callable[[Sequence[CellT], Sequence[Row]], list[CellT]] | None = None
    known: Mapping[str, Collection[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (isinstance(self.cell, type) and is_dataclass(self.cell) and {"set", "seed"} <= {*self.identity}):
            raise TypeError(f"table {self.name}: cell must be a dataclass with the fields set and seed")
        if not self.published:
            raise ValueError(f"table {self.name}: no data sets are published")
        if len({*self.keys, *self.identity}) < len(self.keys) + len(self.identity) or "accuracy" not in self.keys:
            raise ValueError(
                f"table {self.name}: keys {listed(self.keys)} must be different from each other and from the fields "
                f"of a cell ({listed(self.identity)}), and accuracy must be one of them"
            )

    def __reduce__(self) -> tuple[Callable[[str], Table[Any]], tuple[str]]:
        return table_named, (self.name,)  # its functions need not be picklable

    @property
    def sets(self) -> tuple[str, ...]:
        """The names of the table's data sets."""
        return tuple(self.published)

    @property
    def identity(self) -> tuple[str, ...]:
        """The fields of a cell, which tell one run from another."""
        return tuple(field.name for field in fields(self.cell))

    def results(self, file: Path) -> Results:
        """A results file of the table."""
        others = [] if self.counting is None else self.counting(file.parent)
        return Results(file, self.identity, self.keys, self.known, others)

    def plan(self, sets: Sequence[str], seeds: Sequence[int]) -> list[CellT]:
        """The cells for these data sets and seeds, checked. A set or seed that is named twice counts once.

        Raises:
            InputError: a data set is not one of the table's, or a seed is negative.
            TypeError: a cell is not of the declared type.
            ValueError: there are no cells, two are equal, or one is of another set or seed.
        """
        sets, seeds = list(dict.fromkeys(sets)), list(dict.fromkeys(seeds))
        for name in sets:
            if name not in self.published:
                raise unknown(f"data set of {self.name}:", name, self.sets)
        if any(seed < 0 for seed in seeds):
            raise InputError(f"--seeds {','.join(map(str, seeds))}: seeds begin at 0")
        cells = self.cells(sets, seeds)
        for cell in cells:
            if type(cell) is not self.cell:
                raise TypeError(f"table {self.name}: {cell!r} is not a {self.cell.__name__}")
        rows = [asdict(cell) for cell in cells]
        if {(row["set"], row["seed"]) for row in rows} - {(name, seed) for name in sets for seed in seeds}:
            raise ValueError(f"table {self.name}: cells has a run of a data set or seed that was not asked for")
        if {row["set"] for row in rows} != {*sets}:
            raise ValueError(f"table {self.name}: cells has no run for some of the data sets {listed(sets)}")
        if len({tuple(row.values()) for row in rows}) < len(rows):
            raise ValueError(f"table {self.name}: cells has the same run twice")
        return cells

    def row(self, cell: CellT, data_dir: Path | None) -> Row:
        """Runs one cell; its fields followed by what was measured.

        Raises:
            InputError: the data set cannot be read.
            ValueError: the run lacks a declared key, or records one that is a field of the cell.
        """
        measured = self.run(cell, data_dir)
        if lacking := [key for key in self.keys if key not in measured]:
            raise ValueError(f"table {self.name}: a run must record {listed(map(quoted, lacking))}, and does not")
        if taken := [key for key in self.identity if key in measured]:
            raise ValueError(f"table {self.name}: a run records {listed(map(quoted, taken))}, which is of its cell")
        return asdict(cell) | measured


def sets_of(rows: Iterable[Row]) -> list[str]:
    """The data sets of the rows, in the rows' order."""
    return list(dict.fromkeys(row["set"] for row in rows))


def rows_by_set(rows: Sequence[Row], sets: Iterable[str] | None = None) -> dict[str, list[Row]]:
    """The rows of each data set that has some; `sets` gives an order, without it that of the rows."""
    order = sets_of(rows) if sets is None else sets
    by_set = {name: [row for row in rows if row["set"] == name] for name in order}
    return {name: own for name, own in by_set.items() if own}


def first_seed_rows(rows: Sequence[Row]) -> dict[str, Row]:
    """By data set, the row of the smallest seed, for pictures of a single run."""
    return {name: min(own, key=lambda row: row["seed"]) for name, own in rows_by_set(rows).items()}


def markdown(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in markdown, with a line for its head and one for each of `lines`."""
    head = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    return "\n".join(head + [f"| {' | '.join(line)} |" for line in lines])


def run_table(
    table: Table[Any], data_dir: Path | None, sets: Sequence[str] | None, seeds: Sequence[int], file: Path,
    part: tuple[int, int] = (1, 1), say: Callable[[str], None] = print, *, precision: str = "auto", jobs: int = 1,
    ray: str | None = None, display: Display = QUIET,
) -> list[Row]:  # fmt: skip
    """Runs the cells that the results file lacks, then prints the table from all rows of the file, and returns them.

    Everything that can be checked is checked before the first cell runs: the data sets, the cells, the file's rows,
    whether it can be written, and whether the table can be printed from what it holds. A cell that fails is recorded
    beside the file, in NAME.failures.jsonl, and the others go on.

    Args:
        data_dir: a folder of data sets; None reads them from the hub.
        part: (k, n) runs the k-th of n parts of the cells, for n processes; k starts at 1.
        precision: number format in which transformers are trained: "auto", "fp32" or "bf16".
        jobs: number of cells that are run at the same time, each in a process of its own.
        ray: address of a Ray cluster that runs the cells; None for this machine.

    Raises:
        InputError: a data set is not one of the table's, a seed is negative, the file holds something else, or cells
            have failed.
        TypeError, ValueError: the table's cells or a run's keys are not as declared.
    """
    cells = table.plan(table.sets if sets is None else sets, seeds)
    check_precision(precision)
    if ray is None:  # found out once, so that all cells have the same; machines of a cluster find it out themselves
        precision = resolve_precision(precision, choose_device("auto"))
    pool = pool_of(jobs, ray)
    results = table.results(file)
    made = results.by_cell()
    table.report([*made.values()])

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
    chosen = cells[turn - 1 :: parts]  # before the order, which other processes change by their runs
    if table.ordered is not None:
        chosen = table.ordered(chosen, list(made.values()))
    for name in dict.fromkeys(cell.set for cell in chosen if astuple(cell) not in made):
        if name in SOURCES:
            load(name, data_dir)
    check_writable(file)
    log = FailureLog(file.with_name(f"{file.stem}.failures.jsonl"))
    failures = run_jobs(list(map(job_of, chosen)), pool, log, display, tell, say)
    rows = results.rows()
    say(table.report(rows))
    log.check(failures, len(chosen))
    return rows


def named(cell: Any) -> str:
    """A cell in words."""
    return ", ".join(f"{key} {value}" for key, value in asdict(cell).items())


def measured(table: Table[Any], cell: Any, data_dir: Path | None, precision: str = "auto") -> Row:
    """The row of one cell, with the machine and the versions."""
    with default_precision(precision):
        return table.row(cell, data_dir) | environment()


def environment() -> dict[str, str]:
    """The device, the machine, the precision and the versions of a run, which every row records."""
    device = choose_device("auto")
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else processor_name(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads",
        "precision": resolve_precision("auto", device),  # of transformers; models over words are in fp32
        "versions": f"salience {__version__}, torch {torch.__version__}, transformers {transformers.__version__}, "
        f"Python {platform.python_version()}",
    }


def processor_name() -> str:
    """The name of the processor, as "AMD EPYC 7B13"; its architecture where the system does not tell the name."""
    lines = CPU_INFO.read_text().splitlines() if CPU_INFO.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def merge_results(
    table: Table[Any], sets: Sequence[str] | None, seeds: Sequence[int], file: Path, others: Sequence[Path],
    say: Callable[[str], None] = print,
) -> list[Row]:  # fmt: skip
    """Adds the runs of other results files that the file lacks, prints the table, and returns the file's rows.

    The cells that no file has are listed if there are other files. Nothing is run.

    Raises:
        InputError: a data set is not one of the table's, a seed is negative, one of the other files is missing, or a
            file holds something else.
    """
    cells = table.plan(table.sets if sets is None else sets, seeds)
    results = table.results(file)
    for other in others:
        if not other.is_file():
            raise InputError(f"--merge {other}: there is no such file")
    for other in others:
        known = results.by_cell()
        new = [
            row for cell, row in replace(table, counting=None).results(other).by_cell().items() if cell not in known
        ]
        table.report([*known.values(), *new])
        check_writable(file)
        for row in new:
            results.add(row)
        say(f"{other}: {counted(len(new), 'run')} added to {file}")
    rows = results.by_cell()
    lacking = [named(cell) for cell in cells if astuple(cell) not in rows]
    summary = f"{file} lacks {len(lacking):,} of {counted(len(cells), 'run')}"
    for line in [*table.report([*rows.values()]).splitlines(), summary, *(lacking if others else [])]:
        say(line)
    return [*rows.values()]
