"""The files of a comparison beside its runs: what was compared, its result, and a table of all runs."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from salience.comparison.results import Comparison
from salience.errors import InputError
from salience.files import whole_file
from salience.training.recipe import Recipe

COMPARISON, GRID, RUNS, FAILURES = "comparison.json", "grid.json", "results.csv", "failures.jsonl"
REPORTS = ("report.html", "report.md")
PATIENCE = 60  # seconds to wait for another command that writes the comparison
Filled = tuple[Recipe, Recipe]  # a recipe as the user gave it, and the same with nothing left open


def check_comparison(output: Path) -> None:
    """Checks that the results of a comparison can be written to a folder.

    Raises:
        InputError: the folder has a file of the same name that no comparison wrote.
    """
    file = output / COMPARISON
    if not os.path.lexists(file):
        for report in REPORTS:
            if os.path.lexists(output / report):
                raise InputError(
                    f"{output / report} is there without {COMPARISON} and is not replaced: remove it, or choose "
                    "another --output"
                )
        return
    try:
        known = {"seeds", "conditions"} <= json.loads(file.read_text(encoding="utf-8")).keys()
    except (OSError, ValueError, AttributeError):
        known = False
    if not known:
        raise InputError(f"{file} was not written by a comparison and is not replaced: choose another --output")


def write_comparison(comparison: Comparison, output: Path) -> None:
    """Writes the result, and the table of all runs."""
    with whole_file(output / COMPARISON, PATIENCE) as unfinished:
        unfinished.write_text(json.dumps(comparison.as_json(), indent=2) + "\n", encoding="utf-8")
    with whole_file(output / RUNS, PATIENCE) as unfinished:
        comparison.frame().to_csv(unfinished, index=False, lineterminator="\n")


def write_reports(page: str, markdown: str, output: Path) -> None:
    """Writes the report of a comparison, as a page and as Markdown."""
    for name, text in zip(REPORTS, (page, markdown), strict=True):
        with whole_file(output / name, PATIENCE) as unfinished:
            unfinished.write_text(text, encoding="utf-8")


def read_filled_in(output: Path) -> list[Filled]:
    """The recipes whose open values an earlier command has filled in; empty if the file is missing or damaged."""
    try:
        pairs = json.loads((output / GRID).read_text(encoding="utf-8"))["recipes"]
        return [(Recipe.from_mapping(asked), Recipe.from_mapping(filled)) for asked, filled in pairs]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, InputError):
        return []


def write_filled_in(output: Path, recipes: Sequence[Filled]) -> None:
    """Keeps the recipes for later commands."""
    if recipes == read_filled_in(output):
        return
    output.mkdir(parents=True, exist_ok=True)
    with whole_file(output / GRID, PATIENCE) as unfinished:
        pairs = [[recipe.as_mapping() for recipe in pair] for pair in recipes]
        unfinished.write_text(json.dumps({"recipes": pairs}, indent=1) + "\n", encoding="utf-8")
