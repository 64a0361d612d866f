"""Runs as lines of a file: a study can be stopped, and goes on where it was."""

from __future__ import annotations

import json
from pathlib import Path


class Results:
    """A file of results, a line of JSON for each run. A line that was cut off by a kill is dropped when it is read."""

    def __init__(self, file: str | Path):
        self.file = Path(file)
        self.file.parent.mkdir(parents=True, exist_ok=True)

    def rows(self) -> list[dict]:
        text = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def has(self, **wanted) -> bool:
        return any(wanted.items() <= row.items() for row in self.rows())

    def add(self, row: dict) -> None:
        text = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
        if text and not text.endswith("\n"):
            self.file.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
