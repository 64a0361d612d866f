"""Rows of results in a file of JSON lines, written as they come, so that a bench goes on where it was interrupted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path


def kept_rows(file: Path) -> list[dict]:
    """The rows that a file has; none if it is not there."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def keep(file: Path, rows: Iterable[dict]) -> None:
    """Appends rows to a file."""
    with file.open("a", encoding="utf-8") as opened:
        opened.writelines(json.dumps(row) + "\n" for row in rows)
