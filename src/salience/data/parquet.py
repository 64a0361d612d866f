"""Rows and column types of parquet files."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from salience.data.header import checked_names
from salience.data.tables import BATCH, Table, brief, inner_type
from salience.data.values import well_formed
from salience.errors import InputError
from salience.files import readable

if TYPE_CHECKING:
    import pyarrow

LISTS = ("List", "LargeList", "Sequence")  # the types of lists in the metadata of `datasets`, of several versions


def parquet_rows(path: Path, columns: Collection[str] | None = None) -> Iterator[dict]:
    """Yields the rows of a parquet file.

    Args:
        columns: the columns to read; None reads all.

    Raises:
        InputError: as `parquet_table`.
    """
    with parquet_table(path) as table:
        yield from table.rows(str(path), columns)


def parquet_types(path: Path) -> dict[str, pyarrow.DataType]:
    """The columns of a parquet file and their types; no row is read. Raises as `parquet_table`."""
    with parquet_table(path) as table:
        types = table.types()
    assert types is not None  # a parquet file has a schema
    return types


@contextmanager
def parquet_table(path: Path) -> Iterator[Table]:
    """Opens a parquet file. (`datasets` takes brackets in a file's name as a pattern, and reads no gzipped file.)

    Raises:
        InputError: the file is damaged, also where this shows while rows are read; or a column has no valid name.
    """
    import pyarrow
    from pyarrow.parquet import ParquetFile

    with seekable(path) as file:
        try:
            parquet = ParquetFile(file)
            schema = parquet.schema_arrow
            checked_names(schema.names, path)

            def batches(columns: Collection[str] | None) -> Iterable[pyarrow.RecordBatch]:
                names = None if columns is None else [name for name in schema.names if name in columns]
                return parquet.iter_batches(BATCH, columns=names)

            yield Table(schema, classes_in(schema, path), batches)
        except pyarrow.ArrowException as error:
            raise InputError(f"{path}: not a whole parquet file ({brief(error)}); fetch or write it again") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: the name of a column is not UTF-8; write the file again") from error


def classes_in(schema: pyarrow.Schema, path: Path) -> dict[str, list[str]]:
    """The names of the classes, by column, that `datasets` has written into the metadata of a file.

    Raises:
        InputError: the metadata are damaged; numbers would be read instead of names.
    """
    import pyarrow

    written = (schema.metadata or {}).get(b"huggingface")
    if written is None:
        return {}
    try:
        features = json.loads(written).get("info", {}).get("features") or {}
        labels = {name: label for name, feature in features.items() if (label := class_label_in(feature)) is not None}
        numbered = {
            name for name in labels
            if name in schema.names and pyarrow.types.is_integer(inner_type(schema.field(name).type))
        }  # fmt: skip
        return {name: [well_formed(str(label)) for label in names_of(labels[name])] for name in numbered}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f'{path}: the metadata "huggingface", with the names of the classes, are damaged ({brief(error)}); write '
            "the file again, with or without them"
        ) from error


def class_label_in(feature: object) -> dict | None:
    """The `ClassLabel` that a feature in the metadata of `datasets` is, or is a list of; None if it is neither."""
    if isinstance(feature, dict) and feature.get("_type") in LISTS:
        feature = feature.get("feature")
    elif isinstance(feature, list) and len(feature) == 1:
        feature = feature[0]
    return feature if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" else None


def names_of(label: dict) -> list:
    """The names of the classes of a `ClassLabel` in the metadata of `datasets`."""
    names = label.get("names")
    return list(range(label.get("num_classes") or 0)) if names is None else list(names)


@contextmanager
def seekable(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file. A gzipped file is unpacked to disk, since parquet is read from the end of the file."""
    with readable(path) as file:
        if not isinstance(file, gzip.GzipFile):
            yield file
            return
        with tempfile.TemporaryFile() as unpacked:
            shutil.copyfileobj(file, unpacked)
            unpacked.seek(0)
            yield unpacked
