"""A paper's table as one typed value: its runs, what a run records, how it is printed and drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from salience.errors import InputError, listed, quoted, unknown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

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
    from salience.reproduce import TABLES  # which imports this module

    return TABLES[name]()


def sets_of(rows: Iterable[Row]) -> list[str]:
    """The data sets of the rows, in the rows' order."""
    return list(dict.fromkeys(row["set"] for row in rows))


def first_seed_rows(rows: Sequence[Row]) -> dict[str, Row]:
    """By data set, the row of the smallest seed, for pictures of a single run."""
    return {
        name: min((row for row in rows if row["set"] == name), key=lambda row: row["seed"]) for name in sets_of(rows)
    }
