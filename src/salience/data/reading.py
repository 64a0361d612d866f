"""Rows of a file or hub data set, one after the other: a million of them need no more memory than a thousand."""

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


# Suffix -> reader. Every file may also be gzipped, if its reader opens it by `salience.opening`.
READERS = {
    ".csv": Reader(lambda path, encoding, columns: delimited_rows(path, encoding), texts_only=True),
    ".tsv": Reader(lambda path, encoding, columns: delimited_rows(path, encoding, "\t"), texts_only=True),
    ".jsonl": Reader(lambda path, encoding, columns: object_rows(path, encoding)),
    ".json": Reader(lambda path, encoding, columns: object_rows(path, encoding)),
    ".parquet": Reader(lambda path, encoding, columns: parquet_rows(path, columns), parquet_types),
}
NEEDED = "name a file of texts, or a data set on the hub"
HUB_NAME = re.compile(r"([\w-]+|[\w-]+/[\w.-]+)(:[\w.-]+){0,2}")
SAMPLE = 100  # rows that are looked at for the names of the columns: JSON objects may leave one out


def stream(
    source: str | Path, encoding: str = "utf-8", split: str | None = None, columns: Collection[str] | None = None
) -> Iterator[dict]:
    """The rows of a csv, tsv, jsonl or parquet file (each perhaps gzipped), or of a hub data set, as dicts.

    Every text of a row, and every name in it, is valid Unicode (see `well_formed`).

    Args:
        source: a path; or `name`, `owner/name`, `owner/name:split` or `owner/name:config:split` on the hub.
        encoding: of a text file.
        split: of a hub data set; "train" if neither this nor the name says.
        columns: those that are needed; None is all. A typed table leaves out the others, so that their values may be
            whatever they are.

    Raises:
        InputError: at once if the source cannot be found or has no rows; while reading, what is wrong with a row.
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
    """The names of the columns, in order; of a file of objects those of its first rows."""
    types = typed_columns(source, split)
    if types is not None:
        return list(types)
    rows = islice(stream(source, encoding, split), SAMPLE)
    return list(dict.fromkeys(name for row in rows for name in row))


def column_types(source: str | Path, encoding: str = "utf-8", split: str | None = None) -> dict[str, pyarrow.DataType]:
    """All columns, in order, and for each a type that holds all of its values.

    A typed table brings them, and a csv file has texts only. A file of objects is read once for them, since any of
    its rows may have a name or a kind of value that no row before it has.
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
    """The columns of a file or hub data set that states their types; None of other sources. No row is read."""
    if is_on_hub(source):
        return hub_types(str(source), split)
    types = reader_of(Path(source)).types
    return None if types is None else types(Path(source))


def is_on_hub(source: str | Path) -> bool:
    """Nothing on this disk is meant: no such file or folder, no file's suffix, and the form of a hub name."""
    path = Path(source)
    if is_there(path) or suffix_of(path) in READERS or not HUB_NAME.fullmatch(str(source)):
        return False
    return path.parent == Path() or not is_there(path.parent)


def is_there(path: Path) -> bool:
    """Whether there is a file or folder of this name.

    Raises:
        InputError: no file can have it; someone gave a text in place of a file's name.
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
    """The reader of a file, which its suffix decides.

    Raises:
        InputError: the file is missing or empty, is a folder, or is of a kind that cannot be read.
    """
    there = is_there(path)
    if path.is_dir():
        files = sorted(file.name for file in path.iterdir() if suffix_of(file) in READERS)
        found = f"one of its files: {listed(map(quoted, files))}" if files else "a file"
        raise InputError(f"{path}: this is a folder; give {found}")
    if path.is_symlink() and not there:
        raise InputError(f"{path}: this is a link to a file that does not exist")
    if not there:
        raise InputError(f"{path}: no such file.{nearest(path.name, neighbours(path))}")
    if suffix_of(path) not in READERS:
        raise InputError(
            f"{path}: unknown kind of file {quoted(suffix_of(path))}; known: {', '.join(READERS)}, each also with .gz"
        )
    if not path.is_file():
        raise InputError(f"{path}: this is a pipe or a device, and data are read more than once; save them to a file")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty (0 bytes)")
    return READERS[suffix_of(path)]


def suffix_of(path: Path) -> str:
    """'.csv' of 'train.CSV.gz'."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def neighbours(path: Path) -> list[str]:
    return [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
