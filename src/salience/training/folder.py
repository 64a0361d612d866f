"""The run folder: written to a place of its own and moved, so that no half folder is ever found under its name."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from salience.data.columns import Columns
from salience.errors import InputError

RECIPE = "recipe.yaml"  # by which a run folder is known


class RunFolder:
    """Where a run works (`work`, a hidden neighbour) and where it ends (`output`).

    `work` holds checkpoints and then the trained model; it survives a killed run, which `resume` goes on from, and is
    gone when the run is done.

    Raises:
        InputError: the output exists and is not to be overwritten, or an interrupted run lies in the way.
    """

    def __init__(self, output: str | Path, overwrite: bool = False):
        self.output = Path(output)
        self.overwrite = overwrite
        self.work = work_of(self.output)
        self.checkpoints = self.work / "checkpoints"
        self.model = self.work / "model"
        self.check_output()

    def check_output(self) -> None:
        if not self.output.exists():
            return
        if not self.overwrite:
            raise InputError(f"{self.output} exists: choose another --output, or --overwrite it")
        if not self.output.is_dir() or (any(self.output.iterdir()) and not (self.output / RECIPE).is_file()):
            raise InputError(f"{self.output} is no run of salience and is not overwritten: choose another --output")

    def open(self, recipe: dict[str, Any], resume: bool) -> None:
        """Prepares `work` for this recipe; what an interrupted run left there is kept only to resume it."""
        left = self.work / RECIPE
        if left.is_file() and resume:
            check_same_recipe(yaml.safe_load(left.read_text(encoding="utf-8")), recipe, self.output)
            return
        if left.is_file() and not self.overwrite:
            raise InputError(f"an interrupted run of {self.output} is there: --resume it, or --overwrite it")
        if self.work.exists():
            shutil.rmtree(self.work)
        self.checkpoints.mkdir(parents=True)
        write_whole(left, yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True))

    def publish(self) -> None:
        """Gives the finished model folder its name, in place of an older run if that was asked for."""
        self.check_output()
        if self.output.exists():
            os.replace(self.output, self.work / "replaced")
        os.replace(self.model, self.output)
        shutil.rmtree(self.work)


def trained_columns(model: str | Path) -> Columns | None:
    """The columns that a run was trained on; None of a model that is no run, or of a recipe that does not say."""
    try:
        recipe = yaml.safe_load((Path(model).expanduser() / RECIPE).read_text(encoding="utf-8"))
        names = [recipe[role] for role in ("text", "text_pair", "label")]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, TypeError, KeyError):
        return None
    strange = not isinstance(names[0], str) or not all(name is None or isinstance(name, str) for name in names)
    return None if strange else Columns(*names)


def work_of(output: Path) -> Path:
    """Where the run works that will end in `output`."""
    return output.absolute().parent / f".{output.name}.partial"


def changed(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """The settings of `now` that were others before."""
    return [name for name in now if before.get(name) != now[name]]


def check_same_recipe(before: dict[str, Any], now: dict[str, Any], output: Path) -> None:
    for name in changed(before, now):
        raise InputError(
            f"{output}: the interrupted run had {name}={before.get(name)!r}, not {now[name]!r}: "
            "resume it as it was started, or --overwrite it"
        )


def write_whole(file: Path, text: str) -> None:
    """Writes a file under another name and moves it: a reader finds all of it or none."""
    unfinished = file.with_name(file.name + ".unfinished")
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, file)


def write_json(file: Path, value: Any) -> None:
    write_whole(file, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_lines(file: Path, rows: Iterable[dict]) -> None:
    write_whole(file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
