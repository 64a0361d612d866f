"""What a comparison leaves in its folder, and what a later one takes up from there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from salience.errors import InputError, listed
from salience.training.folder import changed, read_recipe, work_of
from salience.training.manifest import RECIPE
from salience.training.recipe import Recipe

SCORES = ("accuracy", "macro_f1", "calibration_error", "log_loss")
COMPARISON = "comparison.json"


def check_comparison(output: Path) -> None:
    """Refuses to replace a file that no comparison wrote.

    Raises:
        InputError: such a file has the name of the comparison's results.
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


def kept(wanted: Recipe, folder: Path) -> bool:
    """Whether this run has been made before.

    Args:
        wanted: the run's recipe with nothing left open.

    Raises:
        InputError: a run of other settings, or on other data, has its name; or its recipe is damaged.
    """
    settings = wanted.as_mapping()
    for place in (folder, work_of(folder)):
        if (place / RECIPE).is_file():
            before = read_recipe(place / RECIPE)
            for name in changed({"checksums": settings["checksums"]} | before, settings):  # earlier versions had none
                if name == "checksums":
                    files = listed(changed(before[name] or {}, settings[name]) or before[name])
                    raise InputError(f"{folder} was run on another content of {files}: choose another --output")
                raise InputError(
                    f"{folder} was run with {name}={before.get(name)!r}, not {settings[name]!r}: "
                    "choose another --output"
                )
    return (folder / RECIPE).is_file()


def read(folder: Path) -> dict:
    """The scores of a run, and for each test row whether it was right (N,).

    Raises:
        InputError: it was judged on rows that chose its checkpoint, or its files are damaged.
    """
    try:
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        judged_on = metrics.get("judged_on")
        if judged_on == "test":
            with (folder / "predictions.jsonl").open(encoding="utf-8", newline="\n") as file:
                rows = [json.loads(line) for line in file]
            right = np.array([row["label"] == row["predicted"] for row in rows])
            if len(right) != metrics["rows"]["test"] or not set(SCORES) <= metrics["test"].keys():
                raise ValueError("rows or scores are missing")
            return {"metrics": metrics, "right": right}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{folder} is damaged ({reason}): remove this folder, and its run is made again") from error
    raise InputError("comparing takes rows that choose nothing, and the data set has no test part: name a --test")
