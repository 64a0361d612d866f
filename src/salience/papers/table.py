"""A paper's table as one typed value: its runs, what a run records, how it is printed and drawn."""

from __future__ import annotations

import errno
import json
import os
import platform
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields, is_dataclass
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
from salience.papers.datasets import SOURCES, device_name, load

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# Results files: a line of JSON for every run, so that an interrupted table continues where it stopped.

PATIENCE = 60  # seconds to wait for another process that adds a line


class Results:
    """A results file, to which several processes may add.

    The file is changed only by `add`, which first removes an incomplete last line, left by a kill or a full disk. A
    run that two processes have both made, and that is in the file twice, counts once.

    Args:
        identity: The fields that tell one run from another, in the order in which every line begins with them;
            without them every line is a run of its own.
        keys: The further fields that every run must have.
        known: By field, the values that it can have, if they are known.
    """

    def __init__(
        self, file: str | Path, identity: Sequence[str] = (), keys: Sequence[str] = (),
        known: Mapping[str, Collection[Any]] | None = None,
    ):  # fmt: skip
        self.file = Path(file)
        self.known = known or {}
        self.identity = tuple(identity)
        self.keys = tuple(keys)

    def rows(self) -> list[dict]:
        """The runs, in the file's order.

        Raises:
            InputError: A line is not a result of this table; the message names it.
        """
        try:
            text = self.file.read_text(encoding="utf-8") if os.path.lexists(self.file) else ""
        except UnicodeDecodeError as error:
            raise InputError(f"{self.file}: {error}; this is not a results file, name another one") from error
        *lines, incomplete = text.split("\n")
        beginning = f'{{"{self.identity[0]}": ' if self.identity else "{"
        if not lines and incomplete[: len(beginning)] != beginning[: len(incomplete)]:
            raise self._foreign(1, self.identity)
        rows: dict[object, dict] = {}
        for number, line in enumerate(lines, 1):
            row = self._parse(line, number)
            rows.setdefault(tuple(row[name] for name in self.identity) if self.identity else number, row)
        return list(rows.values())

    def has(self, **wanted) -> bool:
        """Whether one run has all these values."""
        return any(wanted.items() <= row.items() for row in self.rows())

    def add(self, row: dict) -> None:
        """Writes a line.

        Raises:
            InputError: The file holds something else.
            OSError: The disk is full; the file is then as before.
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

    def _parse(self, line: str, number: int) -> dict:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{self.file}: line {number} is not JSON ({error}); remove the line, and its run is made again"
            ) from error
        if not isinstance(row, dict):
            raise self._foreign(number, self.identity)
        missing = [name for name in (*self.identity, *self.keys) if name not in row]
        if missing:
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


Row = dict[str, Any]  # one run: the fields of its cell, then what was measured
CellT = TypeVar("CellT", bound="DataclassInstance")


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
        name: The name on the command line and of the results file.
        paper: The reference, with an arXiv id or DOI where there is one.
        published: By data set, what the paper reports, in any form. The keys are the table's data sets.
        cell: The type of the cells, a frozen dataclass with the fields `set` and `seed`. Its fields identify a run in
            the results file.
        keys: What `run` records and `report` or `pictures` read; "accuracy" is always one of them.
        cells: (sets, seeds) -> the runs, in the order in which they are made.
        run: (cell, data folder or None for the hub) -> the measurements of one run, with all `keys`, as JSON values.
        report: rows -> the table as markdown. The rows may be those of an incomplete table.
        pictures: (rows, folder) -> the names of the pictures that it writes there, without suffix. None: the table
            has no pictures.
        resized: numbers of training rows -> the table with training sets of these sizes. None: the table has one size.
        known: By field of a cell, the values that it can have, by which runs of another table are told.
        of_model: the name of an encoder -> the table with this one. None: the table is of its own models.

    Raises:
        TypeError: `cell` is not a dataclass with the fields `set` and `seed`.
        ValueError: No data set is published, or `keys` repeats a name, takes one of a cell's or lacks "accuracy".
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
        """A table is pickled as its name, because its functions need not be picklable."""
        return table_named, (self.name,)

    @property
    def sets(self) -> tuple[str, ...]:
        """The names of the table's data sets."""
        return tuple(self.published)

    @property
    def identity(self) -> tuple[str, ...]:
        """The fields of a cell, which tell one run from another."""
        return tuple(field.name for field in fields(self.cell))

    def plan(self, sets: Sequence[str], seeds: Sequence[int]) -> list[CellT]:
        """The cells for these data sets and seeds, checked. A set or seed that is named twice counts once.

        Raises:
            InputError: A data set is not one of the table's, or a seed is negative.
            TypeError: A cell is not of the declared type.
            ValueError: There are no cells, two are equal, or one is of another set or seed.
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
            InputError: The data set cannot be read.
            ValueError: The run lacks a declared key, or records one that is a field of the cell.
        """
        measured = self.run(cell, data_dir)
        lacking = [key for key in self.keys if key not in measured]
        if lacking:
            raise ValueError(f"table {self.name}: a run must record {listed(map(quoted, lacking))}, and does not")
        taken = [key for key in self.identity if key in measured]
        if taken:
            raise ValueError(f"table {self.name}: a run records {listed(map(quoted, taken))}, which is of its cell")
        return asdict(cell) | measured


def table_named(name: str) -> Table[Any]:
    """The table of the catalogue with this name."""
    from salience.papers.tables import TABLES  # which imports this module

    return TABLES[name]()


def sets_of(rows: Iterable[Row]) -> list[str]:
    """The data sets of the rows, in the rows' order."""
    return list(dict.fromkeys(row["set"] for row in rows))


def first_seed_rows(rows: Sequence[Row]) -> dict[str, Row]:
    """By data set, the row of the smallest seed, for pictures of a single run."""
    return {
        name: min((row for row in rows if row["set"] == name), key=lambda row: row["seed"]) for name in sets_of(rows)
    }


# Running the cells of a table, each of which becomes a line of the results file, and printing the table.


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


# Adding the runs of other results files, as of another machine, to the results file of a table.


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
