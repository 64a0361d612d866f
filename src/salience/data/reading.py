"""Rows of a file or hub data set as dicts, one at a time, in memory that does not depend on their number.

Every value of a csv or tsv file stays the text that it is there: "NA", "null", "001" and "1.0" too. A JSON file has
one object a line, or an array of objects. Parquet files and data sets of the hub have types: `salience.data.tables`.
Excel workbooks: `salience.data.sheets`.
"""

from __future__ import annotations

import codecs
import csv
import errno
import json
import re
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from salience.data.values import TOO_DEEP, header_names, nested_names, well_formed, well_formed_value
from salience.errors import InputError, InputWarning, counted, listed, nearest, quoted
from salience.files import PACKINGS, packing_of, readable, readable_text

if TYPE_CHECKING:
    import pyarrow

    Types = dict[str, pyarrow.DataType | str]  # a type of arrow, or its name

LONGEST_FIELD = 2**31 - 1
CHUNK = 1 << 20  # characters of a JSON array that are read at a time
LONGEST_WORD = 12  # characters of a word or an escape that the end of a piece may have cut: "-Infinity" has 9
DECLARATION = re.compile(r'sep=([^\w"\r\n])\s*', re.IGNORECASE)  # of a delimiter, as "sep=;" in the first line
AN_OBJECT = re.compile(r"[^\s,]")  # its beginning, or that of anything else in an array


@dataclass
class Joined:
    """Counts the rows of several lines, and among them those whose lines look like rows of their own.

    A text that begins with a quotation mark, in a file that does not quote, joins all rows up to a later mark.
    """

    several: int = 0
    suspect: int = 0
    complete: int = 0  # of the suspect ones, those without an empty line
    first: str = ""  # the lines of the first suspect one

    def add(self, fields: list[str], delimiter: str, ending: str, start: int, end: int) -> None:
        """Counts a row, in the lines `start` to `end` of a file whose lines end with `ending`."""
        self.several += 1
        if any('"' in field for field in fields if ending in field):  # it was doubled, so that the file does quote
            return
        lines = delimiter.join(fields).split(ending)
        whole = [line for line in lines if line.strip() or delimiter in line]
        if len(whole) < 2 or any(line.count(delimiter) != len(fields) - 1 for line in whole):
            return
        # A space follows the commas of prose.
        if delimiter != "\t" and any(re.search(re.escape(delimiter) + r"(?!\S)", line) for line in whole):
            return
        self.suspect += 1
        self.complete += len(whole) == len(lines)
        self.first = self.first or f"lines {start} to {end}"


def delimited_rows(path: Path, encoding: str) -> Iterator[dict]:
    """Yields the rows of a file with a header. Warns of rows that a quotation mark may have joined."""
    delimiter, _ = delimiter_of(path, encoding)
    quoting = csv.QUOTE_NONE if delimiter == "\t" and quotes_are_text(path, encoding) else csv.QUOTE_MINIMAL
    joined = Joined()
    yield from divided_rows(path, encoding, delimiter, quoting, joined)
    if joined.suspect:
        warnings.warn(
            f"{path}: lines that each look like a row are one text in {counted(joined.suspect, 'row')}, the first in "
            f"{joined.first}; if the quotation mark at its beginning is of the text itself, write that text in double "
            'quotes, with "" for " inside',
            InputWarning,
            stacklevel=1,
        )


def divided_rows(path: Path, encoding: str, delimiter: str, quoting: int, joined: Joined) -> Iterator[dict]:
    with readable_text(path, encoding) as file:
        _, first, line = first_lines(file, path)
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
            names = header_names(next(reader), path)
            line = skipped + reader.line_num + 1
            ending = first[len(first.rstrip("\r\n")) :]
            counts = len(names) > 1 and '"' not in first  # where the header is quoted, the rows are too
            for fields in reader:
                if len(fields) == len(names):
                    if counts and line < (end := skipped + reader.line_num):
                        joined.add(fields, delimiter, ending, line, end)
                    yield dict(zip(names, fields, strict=True))
                elif fields and (len(fields) > 1 or fields[0].strip()):
                    raise InputError(
                        f"{path}: line {line} has {counted(len(fields), 'field')}, but the header has {len(names)}; "
                        f"mend the line, or put a text that contains {quoted(delimiter)} in double quotes"
                    )
                line = skipped + reader.line_num + 1
        except csv.Error as error:
            raise InputError(
                f"{path}: the row that begins in line {line} has a quotation mark that is not closed or not doubled "
                f'({error}); inside a quoted text, write "" for "'
            ) from error


def fields_of(lines: Iterable[str], **options: Any) -> Any:
    """The reader of the standard library, for fields of any length: its limit of 131,072 characters is too low."""
    csv.field_size_limit(LONGEST_FIELD)  # of the whole process, to which a higher one does no harm
    return csv.reader(lines, **options)


def first_lines(file: TextIO, path: Path) -> tuple[str, str, int]:
    """The line by which Excel declares the delimiter, or nothing; the header; and the number of its line."""
    declaration = ""
    for number, line in enumerate(file, 1):
        if not declaration and DECLARATION.fullmatch(line):
            declaration = line
        elif line.strip():
            return declaration, line, number
    raise InputError(f"{path}: the file is empty; it needs a header and rows")


def delimiter_of(path: Path, encoding: str) -> tuple[str, str]:
    """The delimiter of a csv or tsv file, and the line by which Excel declares it, or nothing.

    Where a csv file declares none, it divides the header into the most fields, since spreadsheets write all three.
    """
    with readable_text(path, encoding) as file:
        declaration, header, _ = first_lines(file, path)
    if found := DECLARATION.fullmatch(declaration):
        return found[1], declaration
    if suffix_of(path) == ".tsv":
        return "\t", ""
    return max(",;\t", key=lambda delimiter: len(next(fields_of([header], delimiter=delimiter)))), ""


@dataclass(frozen=True)
class Form:
    """How a csv or tsv file is written: its delimiter, the line that declares it, and its encoding."""

    delimiter: str = ","
    declaration: str = ""
    encoding: str = "utf-8"


def form_of(path: Path, encoding: str) -> Form:
    """The form of a csv or tsv file."""
    return Form(*delimiter_of(path, encoding), encoding_of(path, encoding))


def encoding_of(path: Path, encoding: str) -> str:
    """The encoding that writes a byte order mark if a file in UTF-8 has one; other encodings say it themselves."""
    with readable(path) as file:
        marked = file.read(3) == codecs.BOM_UTF8 and codecs.lookup(encoding).name == "utf-8"
    return "utf-8-sig" if marked else encoding


def form_for(output: Path | None, source: str, encoding: str) -> Form | None:
    """The form of a file of rows that come from another: of that one, if both are csv or tsv.

    Where one is csv and the other tsv, the name of the output says the delimiter. None for other files.
    """
    read, written = suffix_of(Path(source)), None if output is None else suffix_of(output)
    if read not in DELIMITED or written not in DELIMITED or is_on_hub(source):
        return None
    form = form_of(Path(source), encoding)
    return form if read == written else Form(DELIMITED[str(written)], encoding=form.encoding)


def quotes_are_text(path: Path, encoding: str) -> bool:
    """Whether a tab-separated file was written without quoting, as those of GLUE.

    All rows are complete only so; or with quoting too, but then each line of every row of several lines is also one.
    """
    joined = Joined()

    def is_complete(quoting: int) -> bool:
        try:
            deque(divided_rows(path, encoding, "\t", quoting, joined), maxlen=0)
        except InputError:
            return False
        return True

    quotes = is_complete(csv.QUOTE_MINIMAL) and not 0 < joined.several == joined.complete
    return not quotes and is_complete(csv.QUOTE_NONE)


def object_rows(path: Path, encoding: str) -> Iterator[dict]:
    """Yields the objects of a JSON file in either form."""
    # Only line feeds end a line: other line ends may stand inside a JSON string.
    with readable_text(path, encoding, newline="\n") as file:
        characters = iter(lambda: file.read(1), "")
        rows = array_rows if next((mark for mark in characters if not mark.isspace()), "") == "[" else line_rows
    with readable_text(path, encoding, newline="\n") as file:
        at = [1]  # the line that is read
        try:
            yield from rows(file, at)
            return
        except UnicodeError:  # `readable_text` names the byte
            raise
        except json.JSONDecodeError as error:
            problem = f"not valid JSON ({error.msg}); write one object a line, or an array"
        except InputError as error:
            problem = str(error)
        except RecursionError:
            problem = TOO_DEEP
        except ValueError:  # the only other error of the parser is that of the conversion of a number
            problem = "a number has too many digits; write it as a text, in double quotes"
        raise InputError(f"{path}: line {at[0]}: {problem}")


def line_rows(file: TextIO, at: list[int]) -> Iterator[dict]:
    for number, line in enumerate(file, 1):
        at[0] = number
        if not line.isspace():
            yield checked_object(DECODER.decode(line), line)


def array_rows(file: TextIO, at: list[int]) -> Iterator[dict]:
    """As `line_rows`, of an array. It is read in pieces, since it may not fit into memory."""
    text = file.read(CHUNK)
    while "[" not in text:  # more white space comes first than one piece holds
        at[0] += text.count("\n")
        text = file.read(CHUNK)
    position = text.index("[") + 1
    at[0] += text.count("\n", 0, position)
    while True:
        found = AN_OBJECT.search(text, position)
        start = len(text) if found is None else found.start()
        at[0] += text.count("\n", position, start)
        if text.startswith("]", start):
            break
        try:
            row, position = DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            text, position = text[start:], 0
            if text and text[0] != "{":
                raise not_an_object(text) from error
            more = file.read(max(CHUNK, len(text))) if may_go_on(error, start + len(text)) else ""
            if not more:
                raise
            text += more
            continue
        yield checked_object(row, text[start:position])
        at[0] += text.count("\n", start, position)
    text = text[start + 1 :]
    while text:
        if rest := text.lstrip():
            at[0] += text.count("\n", 0, len(text) - len(rest))
            raise InputError(
                f"{quoted(rest.split(maxsplit=1)[0], 30)} follows the end of the array, and would not be read; put "
                "all rows into one array, or one object a line"
            )
        at[0] += text.count("\n")
        text = file.read(CHUNK)


def may_go_on(error: json.JSONDecodeError, length: int) -> bool:
    """Whether the rest of the file may complete the text: the error is at its end, or a string is not closed."""
    return error.msg.startswith("Unterminated string") or length - error.pos < LONGEST_WORD


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object from its names and values. A name that stands twice is refused; the parser would keep the last one."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in row if names.count(name) > 1)
        raise InputError(f"an object has the name {quoted(twice)} twice; rename or remove one of the two")
    return row


DECODER = json.JSONDecoder(object_pairs_hook=distinct)


def checked_object(value: Any, text: str) -> dict:
    if not isinstance(value, dict):
        raise not_an_object(text)
    return well_formed_value(value)


def not_an_object(text: str) -> InputError:
    return InputError(
        f"not a JSON object but {quoted(text.strip(), 30)}; "
        'every row is an object such as {"text": "...", "label": "..."}'
    )


def sheet_rows(path: Path) -> Iterator[dict]:
    from salience.data import sheets  # which imports pyarrow

    return sheets.sheet_rows(path)


def typed_tables() -> Any:
    """The module of typed tables, which imports pyarrow."""
    from salience.data import tables

    return tables


@dataclass(frozen=True)
class Reader:
    """How files of one kind are read.

    Args:
        rows: (path, encoding of text files, needed columns or None for all) -> the rows as dicts, one after the other.
        types: path -> the columns and their types, if the file states them; None if only the rows tell.
        texts_only: whether every value is a text.
    """

    rows: Callable[[Path, str, Collection[str] | None], Iterator[dict]]
    types: Callable[[Path], Types | None] = lambda path: None
    texts_only: bool = False


# Suffix -> reader. Every file may also be compressed, if its reader opens it by `salience.files`.
READERS = {
    ".csv": Reader(lambda path, encoding, columns: delimited_rows(path, encoding), texts_only=True),
    ".tsv": Reader(lambda path, encoding, columns: delimited_rows(path, encoding), texts_only=True),
    ".jsonl": Reader(lambda path, encoding, columns: object_rows(path, encoding)),
    ".json": Reader(lambda path, encoding, columns: object_rows(path, encoding)),
    ".parquet": Reader(
        lambda path, encoding, columns: typed_tables().parquet_rows(path, columns),
        lambda path: typed_tables().parquet_types(path),
    ),
    ".xlsx": Reader(lambda path, encoding, columns: sheet_rows(path)),
}
DELIMITED = {".csv": ",", ".tsv": "\t"}  # with what they are written with where no file says otherwise
SHEET = ". In the spreadsheet, save it as .xlsx or csv"
REMEDIES = {".xls": SHEET, ".ods": SHEET, ".txt": ". If it is one of these, rename it"}  # by suffix
NEEDED = "name a file of texts, or a data set on the hub"
HUB_NAME = re.compile(r"([\w-]+|[\w-]+/[\w.-]+)(:[\w.-]+){0,2}")
SAMPLE = 100  # rows from which the names of the columns are taken: a JSON object may leave some out


def stream(
    source: str | Path, encoding: str = "utf-8", split: str | None = None, columns: Collection[str] | None = None
) -> Iterator[dict]:
    """Reads a csv, tsv, jsonl, json, parquet or xlsx file (also compressed), or a hub data set: its rows as dicts.

    All texts and names of a row are valid Unicode (see `well_formed`).

    Args:
        source: a path; or `name`, `owner/name`, `owner/name:split` or `owner/name:config:split` on the hub.
        split: of a hub data set; None takes the split in the name, or "train".
        columns: the columns that are needed, None for all. Others of typed tables are not read and may be of any type.

    Raises:
        InputError: at once if the source does not exist or has no rows; while rows are read if a row is invalid.
    """
    rows = reader_of(source, split).rows(Path(source), encoding, columns)
    first = next(rows, None)
    if first is None:
        raise InputError(f"{source}: no rows; a header alone, or nothing, is in it")
    return chain([first], rows)


def column_names(source: str | Path, encoding: str = "utf-8", split: str | None = None) -> list[str]:
    """The names of the columns, in order, and of values in objects, `content.text`; of JSON, in the first rows."""
    types = reader_of(source, split).types(Path(source))
    if types is not None:
        return typed_tables().nested_names(types)
    rows = islice(stream(source, encoding, split), SAMPLE)
    return list(dict.fromkeys(name for row in rows for name in nested_names(row)))


@contextmanager
def in_utf8(source: str) -> Iterator[None]:
    """A context in which a file is read that is always UTF-8: an error says so, and names no option."""
    try:
        yield
    except InputError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            message = f'{source} is not UTF-8: save it as csv in UTF-8, which Excel calls "CSV UTF-8"'
            raise InputError(message) from error
        raise


def column_types(source: str | Path, encoding: str = "utf-8", split: str | None = None) -> Types:
    """All columns, in order, each with a type that holds all of its values.

    A file of JSON objects is read once: every row may have names or types of values that those before it do not have.
    """
    reader = reader_of(source, split)
    types = reader.types(Path(source))
    if types is not None:
        return types
    if reader.texts_only:
        return dict.fromkeys(column_names(source, encoding), "string")
    return typed_tables().json_types(stream(source, encoding, split), str(source))


def is_on_hub(source: str | Path) -> bool:
    """Whether a source is a data set on the hub: it has the form of a hub name, and no file or folder is meant."""
    path = Path(source)
    if str(source) == "-" and not is_there(path):  # by which other programs read their standard input
        raise InputError("standard input is not read; give a file")
    if is_there(path) or suffix_of(path) in READERS or not HUB_NAME.fullmatch(str(source)):
        return False
    return path.parent == Path() or not is_there(path.parent)


def is_there(path: Path) -> bool:
    """Whether there is a file or folder. Refuses a name that no file can have, or a path that cannot be read."""
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


def reader_of(source: str | Path, split: str | None = None) -> Reader:
    """The reader for a hub data set, or for a file, by its suffix."""
    if is_on_hub(source):
        return Reader(
            lambda path, encoding, columns: typed_tables().hub_rows(str(source), split, columns),
            lambda path: typed_tables().hub_types(str(source), split),
        )
    path = Path(source)
    there, suffix = is_there(path), suffix_of(path)
    if (path / "config.json").is_file():
        raise InputError(f"{path}: this is the folder of a model, and no file of rows: were the arguments swapped?")
    if path.is_dir():
        files = sorted(file.name for file in path.iterdir() if suffix_of(file) in READERS)
        wanted = f"one of its files: {listed(map(quoted, files))}" if files else "a file"
        raise InputError(f"{path}: this is a folder; give {wanted}")
    if path.is_symlink() and not there:
        raise InputError(f"{path}: this is a link to a file that does not exist")
    if not there:
        neighbours = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(f"{path}: no such file.{nearest(path.name, neighbours)}")
    if suffix not in READERS:
        raise InputError(
            f"{path}: unknown kind of file {quoted(suffix)}; known: {', '.join(READERS)}, each also with "
            f"{', '.join(PACKINGS)}{REMEDIES.get(suffix, '')}"
        )
    if not path.is_file():
        raise InputError(f"{path}: this is a pipe or a device, and data are read more than once; save them to a file")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty (0 bytes)")
    return READERS[suffix]


def suffix_of(path: Path) -> str:
    """The suffix in lower case, without that of a packed file: '.csv' for 'train.CSV.gz'."""
    name = Path(path.name.lower())
    return name.suffix if packing_of(name) is None else Path(name.stem).suffix
