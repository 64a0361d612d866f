"""The type of every column of a file, which parquet needs before the first row is written."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import pyarrow

from salience.data.header import checked_names
from salience.errors import InputError, counted

WINDOW = 1000  # rows that are in memory at a time
MOST = 10_000  # columns of a table
EXACT = 2**53  # up to here a float holds every whole number
DEEPEST = 32  # levels of lists and objects; a parquet file with about 50 can be written, but not read
PLAIN = {bool: pyarrow.bool_(), str: pyarrow.string(), float: pyarrow.float64()}


class ValueTypes:
    """The types of the values of one column, collected in parts."""

    def __init__(self) -> None:
        self.kinds: set[type] = set()
        self.least = self.largest = 0  # of the whole numbers
        self.nested: pyarrow.DataType | None = pyarrow.null()  # of lists and objects; None if they differ too much

    def add(self, values: list) -> None:
        """Adds some values of the column."""
        self.kinds.update(map(type, values))
        if whole := [value for value in values if type(value) is int]:
            self.least, self.largest = min(self.least, *whole), max(self.largest, *whole)
        if self.nested is not None and (inner := [value for value in values if isinstance(value, (list, dict))]):
            self.nested = common_type(self.nested, inner)

    def type(self) -> pyarrow.DataType:
        """A type that holds every value unchanged; text if there is no other."""
        kinds = self.kinds - {type(None)}
        if not kinds:
            return pyarrow.null()
        if kinds <= {int, float} and int in kinds:
            if kinds == {int} and self.least >= -(2**63) and self.largest < 2**63:
                return pyarrow.int64()
            return pyarrow.float64() if float in kinds and self.exact() else pyarrow.string()
        if kinds in ({list}, {dict}) and self.nested is not None:
            return self.nested
        return PLAIN.get(next(iter(kinds)), pyarrow.string()) if len(kinds) == 1 else pyarrow.string()

    def exact(self) -> bool:
        """Whether a float holds each of the whole numbers."""
        return self.least >= -EXACT and self.largest <= EXACT


def json_types(rows: Iterable[dict[str, Any]], source: str) -> dict[str, pyarrow.DataType]:
    """The columns of all rows, in order of first appearance, each with a type that holds all of its values.

    Only a window of rows is in memory.

    Raises:
        InputError: there are more columns than a table can have, or a name that no header can have.
    """
    columns: dict[str, ValueTypes] = {}
    rows = iter(rows)
    while window := list(islice(rows, WINDOW)):
        names = dict.fromkeys(name for row in window for name in row)
        if len(columns.keys() | names) > MOST:
            raise InputError(
                f"{source}: the objects have more than {counted(MOST, 'name')}, too many for the columns of a table; "
                "name an --output that ends in .jsonl"
            )
        for name in names:
            columns.setdefault(name, ValueTypes()).add([row[name] for row in window if name in row])
    checked_names(list(columns), source)
    return {name: types.type() for name, types in columns.items()}


def common_type(known: pyarrow.DataType, values: list) -> pyarrow.DataType | None:
    """One type for lists or objects, and for the type known so far; None if parquet has none (see `fits_parquet`)."""
    try:
        schemas = [pyarrow.schema([("", kind)]) for kind in (known, pyarrow.array(values).type)]
        both = pyarrow.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pyarrow.ArrowException, OverflowError):
        return None
    return both if fits_parquet(both) else None


def fits_parquet(kind: pyarrow.DataType, depth: int = DEEPEST) -> bool:
    """Whether parquet can hold a type: no object in it is empty, and it has at most `depth` levels."""
    if depth == 0 or (pyarrow.types.is_struct(kind) and not kind.num_fields):
        return False
    return all(fits_parquet(kind.field(number).type, depth - 1) for number in range(kind.num_fields))
