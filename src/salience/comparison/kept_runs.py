"""The finished runs in the folder of a comparison, which are not repeated when the comparison is run again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from salience.errors import InputError, listed
from salience.training.folder import work_of
from salience.training.manifest import RECIPE
from salience.training.recipe import Recipe
from salience.training.recipe_file import changed, read_recipe

SCORES = ("accuracy", "macro_f1", "calibration_error", "log_loss")
COMPARISON = "comparison.json"


def check_comparison(output: Path) -> None:
    """Checks that the results of a comparison can be written to a folder.

    Raises:
        InputError: the folder has a file of the same name that no comparison wrote.
    """
    file = output / COMPARISON
    if not os.path.lexists(file):
        return
    try:
        known = {"scores", "differences"} <= json.loads(file.read_text(encoding="utf-8")).keys()
    except (OSError, ValueError, AttributeError):
        known = False
    if not known:
        raise InputError(f"{file} was not written by a comparison and is not replaced: choose another --output")


def is_kept(wanted: Recipe, folder: Path) -> bool:
    """Whether a folder has the finished run of a recipe.

    Args:
        wanted: the recipe, with nothing left open.
        folder: the folder of the run.

    Raises:
        InputError: the folder has a run, finished or not, with other settings or data; or its recipe is damaged.
    """
    settings = wanted.as_mapping()
    for place in (folder, work_of(folder)):
        if (place / RECIPE).is_file():
            # Recipes of earlier versions have no checksums.
            before = {"checksums": settings["checksums"]} | read_recipe(place / RECIPE)
            for name in changed(before, settings):
                if name == "checksums":
                    files = listed(changed(before[name] or {}, settings[name]) or before[name])
                    raise InputError(f"{files} changed after {folder} had been run: choose another --output")
                raise InputError(
                    f"{folder} was run with {name}={before.get(name)!r}, not {settings[name]!r}: "
                    "choose another --output"
                )
    return (folder / RECIPE).is_file()


def read_run(folder: Path) -> dict:
    """The results of a run: "metrics" as in metrics.json, and "right", whether each test row was right (N,).

    Raises:
        InputError: the run has no test rows, or its files are damaged.
    """
    try:
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        if metrics.get("judged_on") == "test":
            with (folder / "predictions.jsonl").open(encoding="utf-8", newline="\n") as file:
                rows = [json.loads(line) for line in file]
            right = np.array([row["label"] == row["predicted"] for row in rows])
            if len(right) != metrics["rows"]["test"] or not set(SCORES) <= metrics["test"].keys():
                raise ValueError("rows or scores are missing")
            return {"metrics": metrics, "right": right}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{folder} is damaged ({reason}): remove this folder to run it again") from error
    raise InputError("the data set has no test part, which a comparison needs: name one with --test")
