"""Runs as lines of a file: a table can be stopped, and goes on where it was."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from pathlib import Path

from salience.errors import InputError, listed, quoted
from salience.files import locked

PATIENCE = 60  # seconds to wait for another process that adds a line


class Results:
    """A file of results, a line of JSON for each run; several processes may add to it.

    The file is changed only by `add`, which first drops a line that a kill or a full disk has cut off. A run that
    stands in the file twice, because two processes have made it, counts once.

    Args:
        key: the fields that tell one run from another; without them every line is a run.
    """

    def __init__(self, file: str | Path, key: Sequence[str] = ()):
        self.file = Path(file)
        self.key = key

    def rows(self) -> list[dict]:
        """The runs, in the file's order.

        Raises:
            InputError: a line is no result of this table; names it.
        """
        try:
            text = self.file.read_text(encoding="utf-8") if os.path.lexists(self.file) else ""
        except UnicodeDecodeError as error:
            raise InputError(f"{self.file}: {error}; this is no file of results, name another one") from error
        *lines, cut = text.split("\n")
        begin = f'{{"{self.key[0]}": ' if self.key else "{"
        if not lines and cut[: len(begin)] != begin[: len(cut)]:
            raise self.foreign(1)
        rows: dict[object, dict] = {}
        for number, line in enumerate(lines, 1):
            row = self.read(line, number)
            rows.setdefault(tuple(row[name] for name in self.key) if self.key else number, row)
        return list(rows.values())

    def read(self, line: str, number: int) -> dict:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{self.file}: line {number} is no JSON ({error}); take it out, and its run is made again"
            ) from error
        if not isinstance(row, dict) or not row.keys() >= set(self.key):
            raise self.foreign(number)
        return row

    def foreign(self, line: int) -> InputError:
        fields = f" with {listed(map(quoted, self.key))}" if self.key else ""
        return InputError(f"{self.file}: line {line} is no result{fields}: name another file with --results")

    def has(self, **wanted) -> bool:
        return any(wanted.items() <= row.items() for row in self.rows())

    def add(self, row: dict) -> None:
        """Writes a line.

        Raises:
            OSError: the disk is full; the line is not there then.
        """
        line = f"{json.dumps(row)}\n".encode()
        with locked(self.file, PATIENCE):
            self.rows()  # refuses a file of something else
            with open(self.file, "ab+", buffering=0) as file:
                file.seek(0)
                end = file.read().rfind(b"\n") + 1
                file.truncate(end)
                if file.write(line) < len(line):
                    file.truncate(end)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.file))
