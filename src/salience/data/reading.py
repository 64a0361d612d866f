"""Rows of a file or hub data set, one at a time, in memory that does not depend on their number."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from salience.data.delimited import delimited_rows
from salience.data.json_rows import object_rows
from salience.data.parquet import parquet_rows, parquet_types
from salience.data.tables import hub_rows, hub_types
from salience.errors import InputError, listed, nearest, quoted

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Reader:
    """How files of one kind are read.

    Args:
        rows: (path, encoding of text files, needed columns or None for all) -> the rows as dicts, one after the other.
        types: path -> the columns and their types, if the file states them; None if only the rows tell.
        texts_only: whether every value is a text.
    """

    rows: Callable[[Path, str, Collection[str] | None], Iterator[dict]]
    types: Callable[[Path], dict[str, pyarrow.DataType]] | None = None
    texts_only: bool = False


# Suffix -> reader. Every file may also be gzipped, if its reader opens it by `salience.files`.
READERS = {
    ".csv": Reader(lambda path, encoding, columns: delimited_rows(path, encoding), texts_only=True),
    ".tsv": Reader(lambda path, encoding, columns: delimited_rows(path, encoding, "\t"), texts_only=True),
    ".jsonl": Reader(lambda path, encoding, columns: object_rows(path, encoding)),
    ".json": Reader(lambda path, encoding, columns: object_rows(path, encoding)),
    ".parquet": Reader(lambda path, encoding, columns: parquet_rows(path, columns), parquet_types),
}
SHEET = ". In the spreadsheet, save it as csv"
REMEDIES = {".xlsx": SHEET, ".xls": SHEET, ".ods": SHEET, ".txt": ". If it is one of these, rename it"}  # by suffix
NEEDED = "name a file of texts, or a data set on the hub"
HUB_NAME = re.compile(r"([\w-]+|[\w-]+/[\w.-]+)(:[\w.-]+){0,2}")
SAMPLE = 100  # rows from which the names of the columns are taken: a JSON object may leave some out


def stream(
    source: str | Path, encoding: str = "utf-8", split: str | None = None, columns: Collection[str] | None = None
) -> Iterator[dict]:
    """Reads a csv, tsv, jsonl, json or parquet file (also gzipped), or a hub data set: its rows as dicts.

    All texts and names of a row are valid Unicode (see `well_formed`).

    Args:
        source: a path; or `name`, `owner/name`, `owner/name:split` or `owner/name:config:split` on the hub.
        encoding: of a text file.
        split: of a hub data set; None takes the split in the name, or "train".
        columns: the columns that are needed; None reads all. Of typed tables, other columns are not read, so their
            values may be of any type.

    Raises:
        InputError: at once if the source does not exist or has no rows; while rows are read if a row is invalid.
    """
    path = Path(source)
    if is_on_hub(source):
        rows = hub_rows(str(source), split, columns)
    else:
        rows = reader_of(path).rows(path, encoding, columns)
    first = next(rows, None)
    if first is None:
        raise InputError(f"{source}: no rows; a header alone, or nothing, is in it")
    return chain([first], rows)


def column_names(source: str | Path, encoding: str = "utf-8", split: str | None = None) -> list[str]:
    """The names of the columns, in order; of JSON objects, the names in the first rows. Arguments as in `stream`."""
    types = typed_columns(source, split)
    if types is not None:
        return list(types)
    rows = islice(stream(source, encoding, split), SAMPLE)
    return list(dict.fromkeys(name for row in rows for name in row))


def column_types(source: str | Path, encoding: str = "utf-8", split: str | None = None) -> dict[str, pyarrow.DataType]:
    """All columns, in order, each with a type that holds all of its values. Arguments as in `stream`.

    Typed tables state them, and csv files have texts only. A file of JSON objects is read once, since every row may
    have names or types of values that the rows before it do not have.
    """
    import pyarrow

    from salience.data.column_types import json_types

    types = typed_columns(source, split)
    if types is not None:
        return types
    if not is_on_hub(source) and reader_of(Path(source)).texts_only:
        return dict.fromkeys(column_names(source, encoding), pyarrow.string())
    return json_types(stream(source, encoding, split), str(source))


def typed_columns(source: str | Path, split: str | None) -> dict[str, pyarrow.DataType] | None:
    """The columns of a parquet file or hub data set with their types; no row is read. None for other sources."""
    if is_on_hub(source):
        return hub_types(str(source), split)
    types = reader_of(Path(source)).types
    return None if types is None else types(Path(source))


def is_on_hub(source: str | Path) -> bool:
    """Whether a source is a data set on the hub: it has the form of a hub name, and no file or folder is meant.

    Raises:
        InputError: as `is_there`; or it is "-", by which other programs read their standard input.
    """
    path = Path(source)
    if str(source) == "-" and not is_there(path):
        raise InputError("standard input is not read; give a file")
    if is_there(path) or suffix_of(path) in READERS or not HUB_NAME.fullmatch(str(source)):
        return False
    return path.parent == Path() or not is_there(path.parent)


def is_there(path: Path) -> bool:
    """Whether there is a file or folder of this name.

    Raises:
        InputError: no file can have this name, for example because it is a text; or the file cannot be read.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except ValueError as error:  # a NUL character
        raise InputError(f"{quoted(path)}: no file can have this name ({error}); {NEEDED}") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"{quoted(path)}: this is too long for the name of a file; {NEEDED}") from error
        raise InputError(f"{path}: the file cannot be read ({error.strerror or error})") from error
    return True


def reader_of(path: Path) -> Reader:
    """The reader for a file, by its suffix.

    Raises:
        InputError: the file is missing or empty, is a folder, or is of an unknown type.
    """
    there = is_there(path)
    if path.is_dir():
        files = sorted(file.name for file in path.iterdir() if suffix_of(file) in READERS)
        wanted = f"one of its files: {listed(map(quoted, files))}" if files else "a file"
        raise InputError(f"{path}: this is a folder; give {wanted}")
    if path.is_symlink() and not there:
        raise InputError(f"{path}: this is a link to a file that does not exist")
    if not there:
        raise InputError(f"{path}: no such file.{nearest(path.name, neighbours(path))}")
    if suffix_of(path) not in READERS:
        raise InputError(
            f"{path}: unknown kind of file {quoted(suffix_of(path))}; known: {', '.join(READERS)}, each also with .gz"
            f"{REMEDIES.get(suffix_of(path), '')}"
        )
    if not path.is_file():
        raise InputError(f"{path}: this is a pipe or a device, and data are read more than once; save them to a file")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty (0 bytes)")
    return READERS[suffix_of(path)]


def suffix_of(path: Path) -> str:
    """The suffix in lower case, without .gz: '.csv' for 'train.CSV.gz'."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def neighbours(path: Path) -> list[str]:
    """The names of the files in the folder of a file."""
    return [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
