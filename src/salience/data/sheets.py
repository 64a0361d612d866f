"""Rows of Excel workbooks (.xlsx), read and written by openpyxl, which the extra `xlsx` installs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from warnings import warn

from salience.data.tables import brief, seekable
from salience.data.values import header_names, well_formed
from salience.errors import InputError, InputWarning, counted, listed, pip_install, quoted

LONGEST_TEXT, MOST_ROWS = 32_767, 1_048_576  # what a cell and a sheet hold
EXACT = 10**15  # Excel keeps 15 digits of a number


def check_installed(path: Path) -> None:
    """Raises an `InputError` if nothing can read or write workbooks."""
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"{path}: .xlsx needs the package openpyxl: {pip_install('xlsx')}, or save it as csv"
        ) from error


def sheet_rows(path: Path) -> Iterator[dict]:
    """Yields the rows of the first sheet, below a header. A cell that is empty, or in error, is None."""
    check_installed(path)
    from openpyxl import load_workbook

    with seekable(path) as file, damage(path):
        sheet, *others = load_workbook(file, read_only=True, data_only=True).worksheets
        if more := [other.title for other in others if any(map(values_of, other.iter_rows(max_row=1)))]:
            told = f"{path}: the sheet {quoted(sheet.title)} is read, and not {listed(map(quoted, more), 5)}"
            warn(told, InputWarning, stacklevel=1)
        sheet.reset_dimensions()  # programs may write wrong ones
        rows = filter(None, map(values_of, sheet.iter_rows()))
        names = header_names(["" if value is None else str(value) for value in next(rows, [])], path)
        for number, values in enumerate(rows, 1):
            if len(values) > len(names):
                raise InputError(
                    f"{path}: row {number} has a value in column {len(values)}, but the header has {len(names)} names"
                )
            yield dict(zip(names, [*values, *[None] * (len(names) - len(values))], strict=True))


def values_of(cells: tuple) -> list[Any]:
    """The values of a row up to the last cell that has one."""
    values = [None if cell.data_type == "e" else cell.value for cell in cells]
    while values and values[-1] is None:
        values.pop()
    return [well_formed(value) if isinstance(value, str) else value for value in values]


@contextmanager
def damage(path: Path) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # of zip, of XML, and of what openpyxl expects in them
        raise InputError(f"{path}: not a whole .xlsx file ({brief(error)}); save it again, or as csv") from error


class Sheet:
    """A workbook of one sheet that is written row by row. Texts are texts: none is taken for a formula."""

    def __init__(self, columns: list[str]):
        from openpyxl import Workbook

        self.book = Workbook(write_only=True)
        self.sheet = self.book.create_sheet("rows")
        self.changed = self.rows = 0
        self.saved = False
        self.columns = columns

    def add(self, values: list[Any]) -> None:
        if self.rows == MOST_ROWS:
            raise InputError(f"a sheet of .xlsx has at most {MOST_ROWS:,} rows: name an --output that ends in .csv")
        self.rows += 1
        self.sheet.append([self.cell(value, place) for place, value in enumerate(values)])

    def close(self) -> None:
        """Ends the temporary file of a workbook that was not saved."""
        if not self.saved:
            self.sheet.close()

    def cell(self, value: Any, place: int) -> Any:
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

        if isinstance(value, float) and not math.isfinite(value):
            self.changed += 1
            return None
        if value is None or isinstance(value, bool) or (isinstance(value, int | float) and abs(value) <= EXACT):
            return value
        if hasattr(value, "isoformat") and getattr(value, "tzinfo", None) is None:  # a date, or a time of day
            return value
        text = str(value)
        if len(text) > LONGEST_TEXT:
            raise InputError(
                f"a text in the column {quoted(self.columns[place])} has {len(text):,} characters, and a cell of "
                f".xlsx holds {LONGEST_TEXT:,}: name an --output that ends in .csv"
            )
        text, replaced = ILLEGAL_CHARACTERS_RE.subn("\N{REPLACEMENT CHARACTER}", text)
        self.changed += bool(replaced)
        cell = WriteOnlyCell(self.sheet, text)
        cell.data_type = "s"
        return cell

    def save(self, target: Path, note: Callable[[str], None]) -> None:
        self.book.save(target)
        self.saved = True
        if self.changed:
            note(
                f"{counted(self.changed, 'cell')} with NaN, or with a character that .xlsx has not: empty or replaced"
            )
