"""Rows of a file or hub data set, one after the other: a million of them need no more memory than a thousand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from salience.data.delimited import delimited_rows
from salience.data.objects import object_rows
from salience.data.tables import hub_rows, parquet_rows
from salience.errors import InputError, listed, nearest, quoted

READERS = {
    ".csv": delimited_rows,
    ".tsv": lambda path, encoding: delimited_rows(path, encoding, "\t"),
    ".jsonl": object_rows,
    ".json": object_rows,
    ".parquet": lambda path, encoding: parquet_rows(path),
}
HUB_NAME = re.compile(r"([\w-]+|[\w-]+/[\w.-]+)(:[\w.-]+){0,2}")
SAMPLE = 100  # rows that are looked at for the names of the columns: JSON objects may leave one out


def stream(source: str | Path, encoding: str = "utf-8", split: str | None = None) -> Iterator[dict]:
    """The rows of a csv, tsv, jsonl or parquet file (each perhaps gzipped), or of a hub data set, as dicts.

    Args:
        source: a path; or `name`, `owner/name`, `owner/name:split` or `owner/name:config:split` on the hub.
        encoding: of a text file.
        split: of a hub data set; "train" if neither this nor the name says.

    Raises:
        InputError: at once if the source cannot be found or has no rows; while reading, what is wrong with a row.
    """
    path = Path(source)
    if is_on_hub(source):
        rows = hub_rows(str(source), split)
    else:
        rows = READERS[known_suffix(path)](path, encoding)
    first = next(rows, None)
    if first is None:
        raise InputError(f"{source}: no rows; a header alone, or nothing, is in it")
    return chain([first], rows)


def column_names(source: str | Path, encoding: str = "utf-8", split: str | None = None) -> list[str]:
    """The names of the columns, in order."""
    rows = islice(stream(source, encoding, split), SAMPLE)
    return list(dict.fromkeys(name for row in rows for name in row))


def is_on_hub(source: str | Path) -> bool:
    """Nothing on this disk is meant: no such file or folder, no file's suffix, and the form of a hub name."""
    path = Path(source)
    if path.exists() or suffix_of(path) in READERS or not HUB_NAME.fullmatch(str(source)):
        return False
    return path.parent == Path() or not path.parent.exists()


def known_suffix(path: Path) -> str:
    """The suffix, which decides the reader.

    Raises:
        InputError: the file is missing or empty, is a folder, or is of a kind that cannot be read.
    """
    if path.is_dir():
        files = sorted(file.name for file in path.iterdir() if suffix_of(file) in READERS)
        found = f"one of its files: {listed(map(quoted, files))}" if files else "a file"
        raise InputError(f"{path}: this is a folder; give {found}")
    if not path.exists():
        raise InputError(f"{path}: no such file.{nearest(path.name, neighbours(path))}")
    if suffix_of(path) not in READERS:
        raise InputError(
            f"{path}: unknown kind of file {quoted(suffix_of(path))}; known: {', '.join(READERS)}, each also with .gz"
        )
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty (0 bytes)")
    return suffix_of(path)


def suffix_of(path: Path) -> str:
    """'.csv' of 'train.CSV.gz'."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def neighbours(path: Path) -> list[str]:
    return [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
