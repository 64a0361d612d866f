"""Runs as lines of a file: a study can be stopped, and goes on where it was."""

from __future__ import annotations

import json
import os
from pathlib import Path

from salience.errors import InputError


class Results:
    """A file of results, a line of JSON for each run; several processes may add to it.

    A line that was cut off by a kill is dropped when the file is taken up again.
    """

    def __init__(self, file: str | Path):
        self.file = Path(file)
        if self.file.exists() and not (known := self.file.read_bytes()).endswith(b"\n"):
            os.truncate(self.file, known.rfind(b"\n") + 1)

    def rows(self) -> list[dict]:
        text = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
        return [self.read(line, number) for number, line in enumerate(text.split("\n")[:-1], 1)]

    def read(self, line: str, number: int) -> dict:
        try:
            return json.loads(line)
        except ValueError as error:
            raise InputError(
                f"{self.file}: line {number} is no JSON ({error}); take it out, and its run is made again"
            ) from error

    def has(self, **wanted) -> bool:
        return any(wanted.items() <= row.items() for row in self.rows())

    def add(self, row: dict) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("ab", buffering=0) as file:  # one write: no other process's line gets in between
            file.write(f"{json.dumps(row)}\n".encode())
