"""The files of a comparison beside its runs: what was compared, its result, and a table of all runs."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from salience.comparison.results import Comparison
from salience.errors import InputError
from salience.files import whole_file
from salience.training.recipe import Recipe

COMPARISON, GRID, RUNS, FAILURES = "comparison.json", "grid.json", "results.csv", "failures.jsonl"
CLASSES = "classes.csv"
REPORTS, EXPLANATIONS = ("report.html", "report.md"), "explanations.jsonl"
PATIENCE = 60  # seconds to wait for another command that writes the comparison


def check_comparison(output: Path) -> None:
    """Checks that the results of a comparison can be written to a folder.

    Raises:
        InputError: the folder has a file of the same name that no comparison wrote.
    """
    file = output / COMPARISON
    if not os.path.lexists(file):
        for name in (*REPORTS, EXPLANATIONS):
            if os.path.lexists(output / name):
                raise InputError(
                    f"{output / name} is there without {COMPARISON} and is not replaced: remove it, or choose "
                    "another --output"
                )
        return
    try:
        keys = json.loads(file.read_text(encoding="utf-8")).keys()
        known = {"seeds", "conditions"} <= keys
    except (OSError, ValueError, AttributeError):
        known = False
    if not known:
        raise InputError(f"{file} was not written by a comparison and is not replaced: choose another --output")


def write_comparison(comparison: Comparison, output: Path) -> None:
    """Writes the result, the table of all runs, and that of all classes."""
    with whole_file(output / COMPARISON, PATIENCE) as unfinished:
        unfinished.write_text(json.dumps(comparison.as_json(), indent=2) + "\n", encoding="utf-8")
    for name, table in ((RUNS, comparison.frame()), (CLASSES, comparison.class_frame())):
        with whole_file(output / name, PATIENCE) as unfinished:
            table.to_csv(unfinished, index=False, lineterminator="\n")


def write_reports(page: str, markdown: str, output: Path) -> None:
    """Writes the report of a comparison, as a page and as Markdown."""
    for name, text in zip(REPORTS, (page, markdown), strict=True):
        with whole_file(output / name, PATIENCE) as unfinished:
            unfinished.write_text(text, encoding="utf-8")


@dataclass
class Known:
    """What earlier commands found out for the runs of a comparison.

    Args:
        recipes: recipes as the user gave them, each with the same with nothing left open.
        costs: what a step costs: the budget, a recipe with nothing left open, and the cost in the unit of the budget.
        several: name of a data set to whether its texts can have several labels.
    """

    recipes: list[tuple[Recipe, Recipe]] = field(default_factory=list)
    costs: list[tuple[str, Recipe, float]] = field(default_factory=list)
    several: dict[str, bool] = field(default_factory=dict)


def read_known(output: Path) -> Known:
    """What earlier commands found out; nothing if the file is missing or damaged."""
    try:
        found = json.loads((output / GRID).read_text(encoding="utf-8"))
        recipe = Recipe.from_mapping
        return Known(
            [(recipe(asked), recipe(filled)) for asked, filled in found["recipes"]],
            [(str(budget), recipe(of), float(cost)) for budget, of, cost in found.get("costs", [])],
            {str(name): bool(several) for name, several in found.get("several", {}).items()},
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, InputError):
        return Known()


def write_known(output: Path, known: Known) -> None:
    """Keeps what was found out for later commands."""
    if known == read_known(output):
        return
    output.mkdir(parents=True, exist_ok=True)
    with whole_file(output / GRID, PATIENCE) as unfinished:
        found = {
            "recipes": [[recipe.as_mapping() for recipe in pair] for pair in known.recipes],
            "costs": [[budget, recipe.as_mapping(), cost] for budget, recipe, cost in known.costs],
            "several": known.several,
        }
        unfinished.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
