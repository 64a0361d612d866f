"""Rows of results in a file of JSON lines, written as they come, so that a bench goes on where it was interrupted."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from development import SETS


def kept_rows(file: Path) -> list[dict]:
    """The rows that a file has; none if it is not there."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def keep(file: Path, rows: Iterable[dict]) -> None:
    """Appends rows to a file."""
    with file.open("a", encoding="utf-8") as opened:
        opened.writelines(json.dumps(row) + "\n" for row in rows)


def missing_runs(file: Path, **values: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """The runs that a file has no row of, one for each combination of values; each is printed when it is made.

    Args:
        file: of rows that have all names of `values`.
        values: by name, the values of the runs; the last name varies fastest.
    """
    made = {tuple(row[name] for name in values) for row in kept_rows(file)}
    for combination in product(*values.values()):
        if combination not in made:
            yield dict(zip(values, combination, strict=True))
            print(*combination, flush=True)


def arguments(
    description: str | None, results: str, *, sets: Sequence[str], sizes: Sequence[int], seeds: Sequence[int]
) -> argparse.ArgumentParser:
    """The options of a bench that makes a run for each set, size and seed; these are the defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--results", type=Path, default=Path(results))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=sets)
    parser.add_argument("--sizes", nargs="+", type=int, default=sizes)
    parser.add_argument("--seeds", nargs="+", type=int, default=seeds)
    return parser
