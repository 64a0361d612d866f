"""Rows and column types of typed tables: parquet files, and data sets of the Hugging Face hub.

A value without an equivalent in Python, such as a date in the year 20,000, stays an arrow scalar, so that a column
that is not used may hold anything and is written to parquet unchanged.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow
from pyarrow.parquet import ParquetFile

from salience.data.values import checked_names, outer_name, well_formed
from salience.errors import InputError, counted, listed, quoted
from salience.files import packing_of, readable

BATCH = 1000  # rows that are in memory at a time
FAILURES = (ValueError, TypeError, ArithmeticError, LookupError)  # for a value, or a time zone, unknown to Python
LISTS = ("List", "LargeList", "Sequence")  # the types of lists in the metadata of `datasets`, of several versions
MOST = 10_000  # columns of a table
EXACT = 2**53  # up to here a float holds every whole number
DEEPEST = 32  # levels of lists and objects; a parquet file with about 50 can be written, but not read
NANOSECONDS = pyarrow.time64("ns")  # a time of day, which arrow would cut to Python's microseconds silently


def python_values(column: pyarrow.Array | pyarrow.ChunkedArray) -> list:
    """The values of a column; arrow scalars where Python has no equal value. Texts are valid Unicode."""
    if column.type == NANOSECONDS:
        return [scalar if scalar.is_valid else None for scalar in column]
    try:
        return column.to_pylist()
    except FAILURES:  # one value spoils the whole call
        return [python_value(scalar) for scalar in column]


def python_value(scalar: pyarrow.Scalar) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:  # bytes that are not UTF-8 are replaced, as half characters are
        return scalar.as_buffer().to_pybytes().decode("utf-8", "replace") if hasattr(scalar, "as_buffer") else scalar
    except FAILURES:
        return scalar


def plain(value: Any) -> Any:
    """A value for csv and JSON: an arrow scalar becomes Python values of its parts, or a text."""
    if not isinstance(value, pyarrow.Scalar):
        return value
    if not value.is_valid:
        return None
    if isinstance(value, pyarrow.StructScalar):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, (pyarrow.ListScalar, pyarrow.LargeListScalar, pyarrow.FixedSizeListScalar)):
        return [plain(part) for part in value.values]
    if value.type != NANOSECONDS:
        simple = python_value(value)
        if not isinstance(simple, pyarrow.Scalar):
            return simple
    if pyarrow.types.is_timestamp(value.type) and value.type.tz:  # in UTC, which needs no list of time zones
        value = value.cast(pyarrow.timestamp(value.type.unit, "UTC"))
    return value.cast(pyarrow.string()).as_py()


Classes = dict[str, list[str]]  # the names of the classes, by column of class numbers, or of lists of them


def typed_rows(
    batches: Iterable[pyarrow.RecordBatch | pyarrow.Table], classes: Classes, source: str,
    columns: Collection[str] | None,
) -> Iterator[dict]:  # fmt: skip
    """Yields the rows of a table with the values of `columns`, or of all for None."""
    first = 1
    for batch in batches:
        names = needed(batch.schema.names, columns)
        values = [python_values(batch.column(name)) for name in names]
        for place, name in enumerate(names):
            if name in classes:
                values[place] = class_names(values[place], classes[name], source, name, first)
        yield from (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))
        first += batch.num_rows


def types_of(schema: pyarrow.Schema, classes: Classes) -> dict[str, pyarrow.DataType]:
    """The type of each column, as `typed_rows` yields its values."""
    types, text = dict(zip(schema.names, schema.types, strict=True)), pyarrow.string()
    return types | {name: text if inner_type(types[name]) is types[name] else pyarrow.list_(text) for name in classes}


def needed(names: Sequence[str], columns: Collection[str] | None) -> list[str]:
    """Those of the names of columns that have the values of `columns`, also in objects; all of them for None."""
    wanted = set(names) if columns is None else {outer_name(column, names) for column in columns}
    return [name for name in names if name in wanted]


def nested_names(types: Mapping[str, pyarrow.DataType]) -> list[str]:
    """The names of columns, and of the values in objects: `content`, `content.text`."""
    found = []
    for name, kind in types.items():
        inner = {each.name: each.type for each in kind} if pyarrow.types.is_struct(kind) else {}
        found += [name, *(f"{name}.{each}" for each in nested_names(inner))]
    return found


def class_names(numbers: list, classes: list[str], source: str, column: str, first: int) -> list:
    """The names of classes by their numbers, or lists of both; None for a row without a class (-1, or missing)."""

    def name_of(number: int | None, row: int) -> str | None:
        if number is not None and number >= len(classes):
            raise InputError(
                f"{source}: row {row}, column {quoted(column)}: there is no class {number}; the file names "
                f"{len(classes)}, counted from 0: {listed(map(quoted, classes))}. Mend the number, or write the file "
                "again without the names"
            )
        return None if number is None or number < 0 else classes[number]

    return [
        [name_of(number, row) for number in value] if isinstance(value, list) else name_of(value, row)
        for row, value in enumerate(numbers, first)
    ]


def inner_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    """The type of the values in lists of this type, or the type itself if it is none of lists."""
    of_lists = (pyarrow.types.is_list, pyarrow.types.is_large_list, pyarrow.types.is_fixed_size_list)
    return kind.value_type if any(each(kind) for each in of_lists) else kind


def brief(error: Exception) -> str:
    return textwrap.shorten(str(error) or type(error).__name__, 200, placeholder=" ...")


def hub_rows(name: str, split: str | None, columns: Collection[str] | None = None) -> Iterator[dict]:
    """Yields the rows of a hub data set. Its name is `owner/name`, `…:split` or `…:config:split`."""
    with hub_data(name, split) as (data, features, classes):
        if features and columns:
            data = data.select_columns(needed(list(features), columns))
        yield from typed_rows(data.with_format("arrow").iter(BATCH), classes, name, columns)


def hub_types(name: str, split: str | None) -> dict[str, pyarrow.DataType] | None:
    """The columns of a hub data set and their types; None if it does not state them."""
    with hub_data(name, split) as (_, features, classes):
        return types_of(features.arrow_schema, classes) if features else None


def hub_splits(name: str) -> list[str]:
    import datasets

    with of_the_hub(f"the parts of the hub data set {quoted(name)} cannot be read"):
        return datasets.get_dataset_split_names(name)


@contextmanager
def hub_data(name: str, split: str | None) -> Iterator[tuple[Any, Any, Classes]]:
    """A data set of `datasets`, its features, and its classes. Errors inside the `with` become an `InputError`."""
    import datasets  # which is slow to import

    name, *parts = name.split(":")
    split = split or (parts[-1] if parts else "train")
    config = parts[0] if len(parts) > 1 else None
    with of_the_hub(f"no file {quoted(name)} is here, and it cannot be read as a hub data set, split {quoted(split)}"):
        data = datasets.load_dataset(name, config, split=split, streaming=True)
        features: Any = data.features or {}  # a `datasets.Features`, which knows its arrow schema, if not empty
        labels = {}
        for column, feature in features.items():  # of a list, what it is a list of
            is_list = isinstance(feature, list) and len(feature) == 1
            labels[column] = feature[0] if is_list else getattr(feature, "feature", feature)
        yield data, features, {column: label.names for column, label in labels.items() if hasattr(label, "int2str")}


@contextmanager
def of_the_hub(problem: str) -> Iterator[None]:
    """A context in which any error becomes an `InputError` of one line, which begins with `problem`."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # of many libraries: the network, the hub, the file formats
        raise InputError(f"{problem}: {brief(error)}") from error


def parquet_rows(path: Path, columns: Collection[str] | None = None) -> Iterator[dict]:
    with parquet_file(path) as (file, classes):
        names = None if columns is None else needed(file.schema_arrow.names, columns)
        yield from typed_rows(file.iter_batches(BATCH, columns=names), classes, str(path), columns)


def parquet_types(path: Path) -> dict[str, pyarrow.DataType]:
    with parquet_file(path) as (file, classes):
        return types_of(file.schema_arrow, classes)


@contextmanager
def parquet_file(path: Path) -> Iterator[tuple[ParquetFile, Classes]]:
    """A parquet file and its classes. (`datasets` takes brackets in a name as a pattern, and opens no packed file.)"""
    with seekable(path) as file:
        try:
            parquet = ParquetFile(file)
            checked_names(parquet.schema_arrow.names, path)
            yield parquet, classes_in(parquet.schema_arrow, path)
        except pyarrow.ArrowException as error:
            raise InputError(f"{path}: not a whole parquet file ({brief(error)}); fetch or write it again") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: the name of a column is not UTF-8; write the file again") from error


@contextmanager
def seekable(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file. A packed file is unpacked to disk, since parquet is read from the end of the file."""
    with readable(path) as file:
        if packing_of(path) is None:
            yield file
            return
        with tempfile.TemporaryFile() as unpacked:
            shutil.copyfileobj(file, unpacked)
            unpacked.seek(0)
            yield unpacked


def classes_in(schema: pyarrow.Schema, path: Path) -> Classes:
    """The names of the classes, by column, that `datasets` has written into the metadata of a file."""
    classes = {}
    try:
        written = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        for name, feature in (written.get("info", {}).get("features") or {}).items():
            if isinstance(feature, dict) and feature.get("_type") in LISTS:
                feature = feature.get("feature")
            elif isinstance(feature, list) and len(feature) == 1:
                feature = feature[0]
            if not (isinstance(feature, dict) and feature.get("_type") == "ClassLabel") or name not in schema.names:
                continue
            if pyarrow.types.is_integer(inner_type(schema.field(name).type)):
                names = feature.get("names")
                names = range(feature.get("num_classes") or 0) if names is None else list(names)
                classes[name] = [well_formed(str(label)) for label in names]
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f'{path}: the metadata "huggingface", with the names of the classes, are damaged ({brief(error)}); write '
            "the file again, with or without them"
        ) from error
    return classes


def json_types(rows: Iterable[dict[str, Any]], source: str) -> dict[str, pyarrow.DataType]:
    """The columns of all rows, each with a type that holds all of its values; parquet needs them first."""
    columns: dict[str, ValueTypes] = {}
    rows = iter(rows)
    while window := list(islice(rows, BATCH)):
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


class ValueTypes:
    """The types of the values of one column, collected in parts."""

    def __init__(self) -> None:
        self.kinds: set[type] = set()
        self.least = self.largest = 0  # of the whole numbers
        self.nested: pyarrow.DataType | None = pyarrow.null()  # of lists and objects; None if parquet has none

    def add(self, values: list) -> None:
        self.kinds.update(map(type, values))
        if whole := [value for value in values if type(value) is int]:
            self.least, self.largest = min(self.least, *whole), max(self.largest, *whole)
        if self.nested is not None and (inner := [value for value in values if isinstance(value, (list, dict))]):
            try:
                schemas = [pyarrow.schema([("", kind)]) for kind in (self.nested, pyarrow.array(inner).type)]
                both = pyarrow.unify_schemas(schemas, promote_options="permissive").field(0).type
            except (pyarrow.ArrowException, OverflowError):
                both = None
            self.nested = both if both is not None and fits_parquet(both) else None

    def type(self) -> pyarrow.DataType:
        """A type that holds every value unchanged; text if there is no other."""
        kinds = self.kinds - {type(None)}
        if not kinds:
            return pyarrow.null()
        if kinds == {int} and self.least >= -(2**63) and self.largest < 2**63:
            return pyarrow.int64()
        if kinds == {float} or (kinds == {int, float} and self.least >= -EXACT and self.largest <= EXACT):
            return pyarrow.float64()
        if kinds in ({list}, {dict}) and self.nested is not None:
            return self.nested
        if kinds == {datetime}:  # of a workbook
            return pyarrow.timestamp("us")
        return pyarrow.bool_() if kinds == {bool} else pyarrow.string()


def fits_parquet(kind: pyarrow.DataType, depth: int = DEEPEST) -> bool:
    """Whether parquet can hold a type: no object in it is empty, and it has at most `depth` levels."""
    if depth == 0 or (pyarrow.types.is_struct(kind) and not kind.num_fields):
        return False
    return all(fits_parquet(kind.field(number).type, depth - 1) for number in range(kind.num_fields))
