"""Rows of a file or hub data set, one at a time, in memory that does not depend on their number."""

from __future__ import annotations

import csv
import errno
import json
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from salience.data.tables import hub_rows, hub_types, parquet_rows, parquet_types
from salience.data.values import DEEPEST, checked_names, well_formed, well_formed_value
from salience.errors import InputError, counted, listed, nearest, quoted
from salience.files import readable_text

if TYPE_CHECKING:
    import pyarrow

# Rows of csv and tsv files. Every value stays a string: "NA", "null", "001" and "1.0" are text.

LONGEST_FIELD = 2**31 - 1


def delimited_rows(path: Path, encoding: str, delimiter: str | None = None) -> Iterator[dict]:
    """Yields the rows of a file with a header.

    Args:
        delimiter: None takes the one that divides the header into the most fields: comma, semicolon or tab.

    Raises:
        InputError: the file is empty, is not text, or a line does not fit the header; names the line.
    """
    delimiter = delimiter or header_delimiter(path, encoding)
    quoting = csv.QUOTE_NONE if delimiter == "\t" and quotes_are_text(path, encoding) else csv.QUOTE_MINIMAL
    return rows(path, encoding, delimiter, quoting)


def rows(path: Path, encoding: str, delimiter: str, quoting: int) -> Iterator[dict]:
    """Yields the rows of a file. Raises as `delimited_rows`.

    Args:
        quoting: a constant of the `csv` module.
    """
    with readable_text(path, encoding) as file:
        first, line = first_line(file, path)
        if 3 * first.count("\0") > len(first):  # UTF-16 without a mark: every second byte is NUL
            raise InputError(
                f"{path}: every second character of the header is NUL; name the encoding of the file, such as "
                "--encoding utf-16-le"
            )
        # Strict: otherwise a quotation mark that is not closed would hide the rest of the file silently.
        lines = map(well_formed, chain([first], file))
        reader = fields_of(lines, delimiter=delimiter, quoting=quoting, strict=True)
        skipped = line - 1
        try:
            names = checked_names(named_index(next(reader)), path)
            width = len(names)
            line = skipped + reader.line_num + 1
            for fields in reader:
                if len(fields) == width:
                    yield dict(zip(names, fields, strict=True))
                elif fields and (len(fields) > 1 or fields[0].strip()):
                    raise InputError(
                        f"{path}: line {line} has {counted(len(fields), 'field')}, but the header has {width}; "
                        f"mend the line, or put a text that contains {quoted(delimiter)} in double quotes"
                    )
                line = skipped + reader.line_num + 1
        except csv.Error as error:
            raise InputError(
                f"{path}: the row that begins in line {line} has a quotation mark that is not closed or not doubled "
                f'({error}); inside a quoted text, write "" for "'
            ) from error


def fields_of(lines: Iterable[str], **options: Any) -> Any:
    """The reader of the standard library, with its `line_num`, for fields of any length.

    Its default limit of 131,072 characters is too low for long documents. The limit applies to the whole process, but
    a higher one does no harm.
    """
    csv.field_size_limit(LONGEST_FIELD)
    return csv.reader(lines, **options)


def named_index(names: list[str]) -> list[str]:
    """The names, with "index" for a first column without a name: pandas writes its index so."""
    return ["index", *names[1:]] if names and not names[0].strip() and "index" not in names else names


def first_line(file, path: Path) -> tuple[str, int]:
    """The first line that is not blank, and its number. Raises an `InputError` if there is none."""
    for number, line in enumerate(file, 1):
        if line.strip():
            return line, number
    raise InputError(f"{path}: the file is empty; it needs a header and rows")


def header_delimiter(path: Path, encoding: str) -> str:
    """The delimiter of a csv file: comma, semicolon or tab, since spreadsheets write all three."""
    with readable_text(path, encoding) as file:
        header, _ = first_line(file, path)
    return max(",;\t", key=lambda delimiter: len(next(fields_of([header], delimiter=delimiter))))


def quotes_are_text(path: Path, encoding: str) -> bool:
    """Whether a tab-separated file was written without quoting, as the files of GLUE are.

    In such a file a text may begin with a quotation mark that is not closed. The file is read once beforehand; it has
    no quoting if its rows are complete only without quoting.
    """
    return not whole(path, encoding, csv.QUOTE_MINIMAL) and whole(path, encoding, csv.QUOTE_NONE)


def whole(path: Path, encoding: str, quoting: int) -> bool:
    """Whether all rows of a tab-separated file have as many fields as the header."""
    try:
        deque(rows(path, encoding, "\t", quoting), maxlen=0)
    except InputError:
        return False
    return True


# Rows of JSON files: one object a line, or an array of objects.

CHUNK = 1 << 20  # characters of an array that are read at a time
LONGEST_WORD = 12  # characters of a word or an escape that the end of a piece may have cut: "-Infinity" has 9
BETWEEN = re.compile(r"[\s,]*")


def object_rows(path: Path, encoding: str) -> Iterator[dict]:
    """Yields the objects of a file in either form.

    Raises:
        InputError: a line is not valid JSON or not an object, or names a value twice; names the line.
    """
    # Only line feeds end a line: other line ends may stand inside a JSON string.
    with readable_text(path, encoding, newline="\n") as file:
        characters = iter(lambda: file.read(1), "")
        rows = array_rows if next((mark for mark in characters if not mark.isspace()), "") == "[" else line_rows
    with readable_text(path, encoding, newline="\n") as file:
        yield from rows(path, file)


def line_rows(path: Path, file: TextIO) -> Iterator[dict]:
    """Yields the objects of a file with one object a line. Raises as `object_rows`."""
    for number, line in enumerate(file, 1):
        if line.isspace():
            continue
        try:
            row = DECODER.decode(line)
        except ValueError as error:
            raise invalid(path, number, error) from error
        except RecursionError as error:
            raise too_deep(path, number) from error
        if not isinstance(row, dict):
            raise not_an_object(path, number, line)
        yield checked(row, path, number)


def array_rows(path: Path, file: TextIO) -> Iterator[dict]:
    """Yields the objects of an array, read in pieces, since it may not fit into memory. Raises as `object_rows`."""
    text, line = file.read(CHUNK), 1
    while "[" not in text:  # more white space comes first than one piece holds
        line += text.count("\n")
        text = file.read(CHUNK)
    position = text.index("[") + 1
    line += text.count("\n", 0, position)  # the number of the line that `position` is in
    while True:
        between = BETWEEN.match(text, position)
        assert between is not None  # it matches nothing, too
        start = between.end()
        line += text.count("\n", position, start)
        if text.startswith("]", start):
            check_end(path, text[start + 1 :], file, line)
            return
        try:
            row, position = DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:  # perhaps the object goes on in the next piece
            text, position = text[start:], 0
            if text and text[0] != "{":
                raise not_an_object(path, line, text) from error
            more = file.read(max(CHUNK, len(text))) if may_go_on(error, start + len(text)) else ""
            if not more:
                raise invalid(path, line, error) from error
            text += more
            continue
        except ValueError as error:
            raise invalid(path, line, error) from error
        except RecursionError as error:
            raise too_deep(path, line) from error
        if not isinstance(row, dict):
            raise not_an_object(path, line, text[start:position])
        yield checked(row, path, line)
        line += text.count("\n", start, position)


def may_go_on(error: json.JSONDecodeError, length: int) -> bool:
    """Whether the rest of the file may complete the text: the error is at its end, or a string is not closed."""
    return error.msg.startswith("Unterminated string") or length - error.pos < LONGEST_WORD


def check_end(path: Path, text: str, file: TextIO, line: int) -> None:
    """Raises an `InputError` if anything but white space follows the array."""
    while text:
        if rest := text.lstrip():
            line += text.count("\n", 0, len(text) - len(rest))
            raise InputError(
                f"{path}: line {line}: {quoted(rest.split(maxsplit=1)[0], 30)} follows the end of the array, and "
                "would not be read; put all rows into one array, or one object a line"
            )
        line += text.count("\n")
        text = file.read(CHUNK)


class NamedTwice(ValueError):
    """An object has a name twice."""


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object from its names and values. Raises `NamedTwice`; the parser would keep the last value silently."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in row if names.count(name) > 1)
        raise NamedTwice(f"an object has the name {quoted(twice)} twice; rename or remove one of the two")
    return row


DECODER = json.JSONDecoder(object_pairs_hook=distinct)


def checked(row: dict, path: Path, line: int) -> dict:
    """The row with valid Unicode only.

    Raises:
        InputError: it is nested too deeply, or has the same name twice.
    """
    try:
        return well_formed_value(row)
    except TypeError as error:
        raise too_deep(path, line) from error
    except KeyError as error:
        raise InputError(
            f"{path}: line {line}: two names of an object are not valid Unicode and cannot be told apart: "
            f"{quoted(error.args[0])}; rename them"
        ) from error


def invalid(path: Path, line: int, error: ValueError) -> InputError:
    """The error for a line that is not JSON."""
    if isinstance(error, json.JSONDecodeError):
        return InputError(f"{path}: line {line}: not valid JSON ({error.msg}); write one object a line, or an array")
    if isinstance(error, NamedTwice):
        return InputError(f"{path}: line {line}: {error}")
    # The only other error of the parser is that of the conversion of a number.
    return InputError(f"{path}: line {line}: a number has too many digits; write it as a text, in double quotes")


def too_deep(path: Path, line: int) -> InputError:
    """The error for a line whose values are nested too deeply."""
    return InputError(
        f"{path}: line {line}: lists and objects are nested more than {DEEPEST} levels deep; a row is an object of "
        "texts and numbers"
    )


def not_an_object(path: Path, line: int, text: str) -> InputError:
    """The error for a row that is JSON but no object."""
    return InputError(
        f"{path}: line {line}: not a JSON object but {quoted(text.strip(), 30)}; "
        'every row is an object such as {"text": "...", "label": "..."}'
    )


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

    from salience.data.tables import json_types

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
