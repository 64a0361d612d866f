"""The rows of a file, or of a part of it, some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from salience.data.columns import Columns
from salience.data.reading import stream
from salience.errors import InputError
from salience.parts import WHOLE, rows_of
from salience.prediction.predictor import texts_in


@dataclass(frozen=True)
class Windows:
    """Reads a file of texts in bounded memory. It can be sent to another process, which reads the same rows.

    Args:
        source: a file or data set, as `salience.data.reading.stream` takes it.
        encoding: of a text file.
        columns: the columns of the texts.
        rows: the rows that are read, from 0; None reads all.
        size: number of rows in memory at a time.
    """

    source: str
    encoding: str
    columns: Columns
    rows: range | None
    size: int

    def __iter__(self) -> Iterator[tuple[int, list[dict]]]:
        """Yields the number of the first row of a window, from 1, and its rows with all columns.

        Raises:
            InputError: a row is invalid.
        """
        return self.windows(stream(self.source, self.encoding))

    def texts(self) -> Iterator[list[tuple[str | None, ...]]]:
        """Yields the texts of every window. Other columns of typed tables are not read.

        Raises:
            InputError: a row is invalid, or a value is no text.
        """
        for first, rows in self.windows(stream(self.source, self.encoding, columns=self.columns.names)):
            yield self.texts_of(first, rows)

    def texts_of(self, first: int, rows: list[dict]) -> list[tuple[str | None, ...]]:
        """The texts of a window; see `texts_in`."""
        return texts_in(rows, self.columns, self.source, first)

    def windows(self, rows: Iterator[dict]) -> Iterator[tuple[int, list[dict]]]:
        """Divides rows of the file into windows."""
        first = 1
        if self.rows is not None:
            rows, first = islice(rows, self.rows.start, self.rows.stop), self.rows.start + 1
        while window := list(islice(rows, self.size)):
            yield first, window
            first += len(window)


def check_window(size: int) -> None:
    """Raises an `InputError` if a window has no row."""
    if size < 1:
        raise InputError(f"--window must be at least 1, not {size}")


def rows_of_part(part: tuple[int, int], source: str, encoding: str, columns: Columns) -> range | None:
    """The rows of the k-th of n parts of a file; None for all of them. The rows are counted by reading the file once.

    Raises:
        InputError: a row is invalid.
    """
    if part == WHOLE:
        return None
    return rows_of(part, sum(1 for _ in stream(source, encoding, columns=columns.names)))
