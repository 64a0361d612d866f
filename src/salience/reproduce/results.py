"""Results files: a line of JSON for every run, so that an interrupted table continues where it stopped."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from salience.errors import InputError, listed, quoted
from salience.outputs import locked

PATIENCE = 60  # seconds to wait for another process that adds a line


class Results:
    """A results file, to which several processes may add.

    The file is changed only by `add`, which first removes an incomplete last line, left by a kill or a full disk. A
    run that two processes have both made, and that is in the file twice, counts once.

    Args:
        identity: The fields that tell one run from another, in the order in which every line begins with them;
            without them every line is a run of its own.
        keys: The further fields that every run must have.
        known: By field, the values that it can have, if they are known.
    """

    def __init__(
        self, file: str | Path, identity: Sequence[str] = (), keys: Sequence[str] = (),
        known: Mapping[str, Collection[Any]] | None = None,
    ):  # fmt: skip
        self.file = Path(file)
        self.known = known or {}
        self.identity = tuple(identity)
        self.keys = tuple(keys)

    def rows(self) -> list[dict]:
        """The runs, in the file's order.

        Raises:
            InputError: A line is not a result of this table; the message names it.
        """
        try:
            text = self.file.read_text(encoding="utf-8") if os.path.lexists(self.file) else ""
        except UnicodeDecodeError as error:
            raise InputError(f"{self.file}: {error}; this is not a results file, name another one") from error
        *lines, incomplete = text.split("\n")
        beginning = f'{{"{self.identity[0]}": ' if self.identity else "{"
        if not lines and incomplete[: len(beginning)] != beginning[: len(incomplete)]:
            raise self._foreign(1, self.identity)
        rows: dict[object, dict] = {}
        for number, line in enumerate(lines, 1):
            row = self._parse(line, number)
            rows.setdefault(tuple(row[name] for name in self.identity) if self.identity else number, row)
        return list(rows.values())

    def has(self, **wanted) -> bool:
        """Whether one run has all these values."""
        return any(wanted.items() <= row.items() for row in self.rows())

    def add(self, row: dict) -> None:
        """Writes a line.

        Raises:
            InputError: The file holds something else.
            OSError: The disk is full; the file is then as before.
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

    def _parse(self, line: str, number: int) -> dict:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{self.file}: line {number} is not JSON ({error}); remove the line, and its run is made again"
            ) from error
        if not isinstance(row, dict):
            raise self._foreign(number, self.identity)
        missing = [name for name in (*self.identity, *self.keys) if name not in row]
        if missing:
            raise self._foreign(number, missing)
        for name, values in self.known.items():
            if row[name] not in values:
                raise InputError(
                    f"{self.file}: line {number} is a run of another table, whose {name} is {quoted(str(row[name]))}: "
                    "name another file with --results"
                )
        return row

    def _foreign(self, line: int, missing: Sequence[str]) -> InputError:
        lacks = f", it lacks {listed(map(quoted, missing))}" if missing else ""
        return InputError(
            f"{self.file}: line {line} is not a result of this table{lacks}: name another file with --results"
        )
