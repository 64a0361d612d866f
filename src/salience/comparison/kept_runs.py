"""The finished runs in the folder of a comparison, which are not repeated when the comparison is run again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from salience.errors import InputError, listed, one_line
from salience.training.folder import work_of
from salience.training.manifest import RECIPE
from salience.training.recipe import Recipe, without_retired
from salience.training.recipe_file import changed, read_recipe
from salience.training.results import PREDICTIONS, PROBABILITIES
from salience.training.scoring import Scoring, scoring_of

NO_TEST = "the data set has no test part, which a comparison needs: name one with --test"


def is_kept(wanted: Recipe, folder: Path) -> bool:
    """Whether a folder has the finished run of a recipe.

    Args:
        wanted: the recipe, with nothing left open.
        folder: the folder of the run.

    Raises:
        InputError: the folder has a run, finished or not, with other settings or data; or its recipe is damaged.
    """
    # The unfinished run first: if another command finishes it in between, it is found in the folder.
    was_run(wanted, work_of(folder), folder)
    return was_run(wanted, folder, folder)


def was_run(wanted: Recipe, place: Path, folder: Path) -> bool:
    """Whether there is a recipe in a place, which is then the wanted one.

    Args:
        wanted: the recipe, with nothing left open.
        place: the folder of the run, or that of the unfinished run.
        folder: the folder of the run, for messages.

    Raises:
        InputError: the recipe there has other settings or data, or is damaged.
    """
    settings = wanted.as_mapping()
    try:
        before = without_retired(read_recipe(place / RECIPE), str(folder))
    except FileNotFoundError:
        return False
    for name in changed(before, settings):
        if name == "checksums":
            files = listed(changed(before.get(name) or {}, settings[name]) or before[name])
            raise InputError(f"{files} changed after {folder} had been run: choose another --output")
        raise InputError(
            f"{folder} was run with {name}={before.get(name)!r}, not {settings[name]!r}: choose another --output"
        )
    return True


@dataclass(frozen=True)
class KeptRun:
    """The results of a finished run on its test rows.

    Args:
        metrics: as in metrics.json.
        probabilities: predicted probabilities (N, C).
        labels: class numbers (N,), or 0 and 1 (N, C) where a text can have several labels.
        names: names of the classes (C,).
    """

    metrics: dict[str, Any]
    probabilities: np.ndarray
    labels: np.ndarray
    names: tuple[str, ...]

    @property
    def scoring(self) -> Scoring:
        """How the run is scored."""
        return scoring_of(self.labels)

    def in_words(self) -> str:
        """The main score: "accuracy 0.912"."""
        return f"{self.scoring.main_title} {self.metrics['test'][self.scoring.main]:.3f}"


def read_run(folder: Path) -> KeptRun:
    """The results of a run.

    Raises:
        InputError: the run has no test rows, or its files are damaged.
    """
    try:
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        if metrics.get("judged_on") == "test":
            with np.load(folder / PROBABILITIES, allow_pickle=False) as arrays:
                names = tuple(arrays["names"].tolist())
                run = KeptRun(metrics, arrays["probabilities"], arrays["labels"], names)
            fitting = run.labels.shape in ((len(run.probabilities),), run.probabilities.shape)
            whole = fitting and len(run.labels) == metrics["rows"]["test"]
            if not whole or not run.scoring.compared.keys() <= metrics["test"].keys():
                raise ValueError("rows or scores are missing")
            return run
    except (OSError, ValueError, TypeError, KeyError, AttributeError, BadZipFile) as error:
        reason = one_line(error, 200)
        raise InputError(f"{folder} is damaged ({reason}): remove this folder to run it again") from error
    raise InputError(NO_TEST)


def read_rows(folder: Path, rows: Sequence[int], name: str = PREDICTIONS) -> list[dict[str, Any]]:
    """Some of the rows of a run's predictions.jsonl, or of its out_of_fold.jsonl, in the order asked for.

    Args:
        folder: of a finished run.
        rows: numbers of lines, from 0.
        name: of the file.

    Raises:
        InputError: the file is damaged or has fewer lines.
    """
    wanted, found = set(rows), {}
    if not wanted:
        return []
    file = folder / name
    try:
        # Texts contain line ends of Unicode, which only splitting at "\n" leaves alone.
        with open(file, encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines):
                if number in wanted:
                    found[number] = json.loads(line)
                    check_test_row(found[number])
        return [found[number] for number in rows]
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        raise InputError(f"{file} is damaged ({reason}): remove {folder} to run it again") from error


def check_test_row(row: dict[str, Any]) -> None:
    """Raises a `ValueError` if a line of predictions.jsonl lacks what a report shows."""
    texts = [row["text"], row.get("text_pair", "")]
    for labels in (row["label"], row["predicted"]):
        texts += labels if isinstance(labels, list) else [labels]
    if not all(isinstance(text, str) for text in texts) or not isinstance(row["row"], int):
        raise ValueError("a row has no text, label or prediction")
