"""Rows of typed tables: parquet files, and data sets of the Hugging Face hub."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from salience.data.columns import checked_names
from salience.errors import InputError, quoted
from salience.opening import readable

BATCH = 1000  # rows that are in memory at a time


def parquet_rows(path: Path) -> Iterator[dict]:
    """The rows of a parquet file. (`datasets` takes brackets in its name for a pattern, and reads no packed one.)"""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    with seekable(path) as file:
        try:
            table = ParquetFile(file)
            checked_names(table.schema_arrow.names, path)
            features = {}
            if b"huggingface" in (table.schema_arrow.metadata or {}):  # written by `datasets`, with the labels' names
                from datasets import Features

                features = Features.from_arrow_schema(table.schema_arrow)
            yield from named(table.iter_batches(BATCH), features)
        except pyarrow.ArrowException as error:
            raise InputError(f"{path}: not a whole parquet file ({brief(error)}); fetch or write it again") from error


@contextmanager
def seekable(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes; if packed, unpacked to disk, since a parquet file is read from its end."""
    with readable(path) as file:
        if not isinstance(file, gzip.GzipFile):
            yield file
            return
        with tempfile.TemporaryFile() as unpacked:
            shutil.copyfileobj(file, unpacked)
            unpacked.seek(0)
            yield unpacked


def hub_rows(name: str, split: str | None) -> Iterator[dict]:
    """The rows of a hub data set, streamed; its name is `owner/name`, `…:split` or `…:config:split`."""
    import datasets

    name, *parts = name.split(":")
    split = split or (parts[-1] if parts else "train")
    config = parts[0] if len(parts) > 1 else None
    with of_the_hub(f"no file {quoted(name)} is here, and it cannot be read as a hub data set, split {quoted(split)}"):
        table = datasets.load_dataset(name, config, split=split, streaming=True)
        batches = table.with_format("arrow").iter(BATCH)
        yield from named(batches, table.features or {})


def hub_splits(name: str) -> list[str]:
    """The names of the parts of a hub data set."""
    import datasets

    with of_the_hub(f"the parts of the hub data set {quoted(name)} cannot be read"):
        return datasets.get_dataset_split_names(name)


@contextmanager
def of_the_hub(told: str) -> Iterator[None]:
    """Inside the `with`, whatever goes wrong with the hub becomes one line."""
    try:
        yield
    except Exception as error:  # of many libraries: the network, the hub, the file formats
        raise InputError(f"{told}: {brief(error)}") from error


def named(batches: Iterable, features: dict) -> Iterator[dict]:
    """Rows of arrow tables, with the names of classes in place of their numbers. Without a class (-1) is None."""
    names = {column: feature.names for column, feature in features.items() if hasattr(feature, "int2str")}
    for batch in batches:
        rows = batch.to_pylist()
        for column, classes in names.items():
            for row in rows:
                number = row[column]
                row[column] = classes[number] if number is not None and number >= 0 else None
        yield from rows


def brief(error: Exception) -> str:
    return textwrap.shorten(str(error) or type(error).__name__, 200, placeholder=" ...")
