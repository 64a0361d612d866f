"""What the folder of a finished run holds on its results: scores, predictions, the loss over the steps, the data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from salience.errors import InputError, one_line
from salience.training.data_facts import FACTS
from salience.training.history import HISTORY
from salience.training.judged_scores import judge_of, judged_scores
from salience.training.manifest import RECIPE
from salience.training.recipe_file import read_recipe
from salience.training.results import OUT_OF_FOLD, PREDICTIONS, PROBABILITIES


@dataclass(frozen=True)
class JudgedRows:
    """The rows that a run is judged on, and what was predicted for them.

    Attributes:
        kind: "test"; "estimate", rows that each was predicted by a model that was not trained on it; or "validation".
        file: the file of the run that has the texts, a line for each row.
        probabilities: (N, C).
        labels: (N,) class numbers, or (N, C), 0 and 1, where a text can have several labels.
        groups: (N,) the group of each row; None for rows that are independent.
        decided: (N, C) bool, the labels that are predicted, where a text can have several.
    """

    kind: str
    file: str
    probabilities: np.ndarray
    labels: np.ndarray
    groups: np.ndarray | None = None
    decided: np.ndarray | None = None

    @property
    def predicted(self) -> np.ndarray:
        """The most probable classes (N,)."""
        return self.probabilities.argmax(1)

    @property
    def decisions(self) -> np.ndarray:
        """Whether each row gets each label (N, C) bool; where a text has one label, the most probable one."""
        if self.decided is not None:
            return self.decided
        return self.predicted[:, None] == np.arange(self.probabilities.shape[1])


@dataclass(frozen=True)
class FinishedRun:
    """A run as its folder tells it.

    Attributes:
        folder: of the run.
        metrics: as in metrics.json.
        recipe: the settings.
        labels: the names of the C classes; empty if nothing tells them.
        judged: the rows that it is judged on; None if no labelled row was kept from the training.
        history: as of `salience.training.history.history_of`; empty for runs that did not keep it.
        facts: as of `salience.training.data_facts.data_facts`; None for runs that did not keep them.
    """

    folder: Path
    metrics: dict[str, Any]
    recipe: dict[str, Any]
    labels: list[str]
    judged: JudgedRows | None
    history: list[dict[str, Any]]
    facts: dict[str, Any] | None


def read_finished_run(folder: str | Path) -> FinishedRun:
    """Reads the results of a run. Test rows come before those of an estimate, and these before validation rows.

    Raises:
        InputError: the folder is no run, or its files are damaged.
    """
    place = Path(folder).expanduser()
    if not all((place / name).is_file() for name in ("metrics.json", RECIPE)):
        raise InputError(f"{folder} is no run: name a folder that `salience train` has written")
    try:
        metrics, recipe = read_json(place / "metrics.json"), read_recipe(place / RECIPE)
        judged_scores(metrics)  # they are there
        labels, judged = read_judged(place, metrics)
        facts = read_json(place / FACTS) if (place / FACTS).is_file() else None
        history = read_json(place / HISTORY) if (place / HISTORY).is_file() else []
        if not all(isinstance(row, dict) for row in history):
            raise ValueError(f"{HISTORY} is no list of steps")
        classes = [] if facts is None else list(facts["parts"]["training"]["classes"])
        labels = labels or classes
        return FinishedRun(place, metrics, recipe, labels, judged, history, facts)
    except InputError:
        raise
    except (OSError, ValueError, TypeError, KeyError, AttributeError, IndexError, BadZipFile) as error:
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        raise InputError(f"{folder} is damaged ({reason}): train it again") from error


def read_json(file: Path) -> Any:
    """The content of a JSON file."""
    return json.loads(file.read_text(encoding="utf-8"))


def read_judged(folder: Path, metrics: dict[str, Any]) -> tuple[list[str], JudgedRows | None]:
    """The names of the classes and the rows that a run is judged on, if there are any.

    Raises:
        ValueError: the arrays do not fit each other.
    """
    kind = judge_of(metrics)
    if kind is None:
        return [], None
    file, arrays = OUT_OF_FOLD if kind == "estimate" else (PREDICTIONS, PROBABILITIES)
    with np.load(folder / arrays, allow_pickle=False) as found:
        names = [str(name) for name in found["names"]]
        groups = found.get("group")
        judged = JudgedRows(kind, file, found["probabilities"], found["labels"], groups, found.get("decided"))
    rows = metrics["estimate"]["rows"] if kind == "estimate" else metrics["rows"][kind]
    if judged.probabilities.shape != (rows, len(names)) or judged.labels.shape not in ((rows,), (rows, len(names))):
        raise ValueError(f"{arrays} does not have the rows of metrics.json")
    return names, judged
