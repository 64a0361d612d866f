"""The finished runs in the folder of a comparison, which are not repeated when the comparison is run again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from salience.comparison.grid import OF_ESTIMATE, OF_METHOD, Condition, Grid
from salience.errors import InputError, listed, one_line
from salience.runs.folder import PREDICTIONS, PROBABILITIES, RECIPE, changed, read_recipe, work_of
from salience.runs.retired import without_retired
from salience.scores.labels import Labels, labels_of
from salience.settings import settings_of
from salience.training.recipe import Recipe

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
    def scoring(self) -> Labels:
        """How the run is scored."""
        return labels_of(self.labels)

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


# Where the runs of a comparison come from: their recipe, and the versions and machines that made them.

# Settings that differ between the runs of every comparison, or have no effect on any.
OF_RUNS = (*OF_METHOD, *OF_ESTIMATE, "seed")


@dataclass(frozen=True)
class SettingUsed:
    """A setting of the baseline's recipe, as it was used.

    Attributes:
        name: its name in a recipe.
        values: each of its values to the titles of the conditions that have it.
        filled_in: whether it was left open and followed from data, model or machine.
    """

    name: str
    values: dict[str, list[str]]
    filled_in: bool


@dataclass(frozen=True)
class Provenance:
    """Where the runs come from.

    Attributes:
        runs: their number.
        variants: name of a variant to the settings in which it differs from another one, beside the method.
        settings: all other settings.
        versions: name of a library to its versions, most often one.
        machine: what is known of the machines, such as "device", to its values, most often one.
    """

    runs: int
    variants: dict[str, dict[str, str]]
    settings: list[SettingUsed]
    versions: dict[str, list[str]]
    machine: dict[str, list[str]]


def provenance_of(grid: Grid, runs: Iterable[KeptRun], filled_in: Mapping[Condition, Recipe]) -> Provenance:
    """Where the runs of a grid come from.

    Args:
        grid: the grid, with its recipes as the user gave them.
        runs: all runs.
        filled_in: the baseline's recipe of each condition with nothing left open.
    """
    metrics = [run.metrics for run in runs]
    return Provenance(
        len(metrics), variants_in_words(grid), settings_used(grid, filled_in),
        *(distinct(each.get(part, {}) for each in metrics) for part in ("versions", "machine")),
    )  # fmt: skip


def settings_used(grid: Grid, filled_in: Mapping[Condition, Recipe]) -> list[SettingUsed]:
    """Every setting that the runs of a condition share, with its values over all conditions."""
    varied = varied_settings(grid)
    baseline = next(iter(grid.recipes))
    asked = {each: grid.recipe(each, baseline, grid.seeds[0]) for each in filled_in}
    used = []
    for name, declared in settings_of(Recipe).items():
        if name in OF_RUNS or name in varied:
            continue
        values: dict[str, list[str]] = {}
        for condition, recipe in filled_in.items():
            value = getattr(recipe, name)
            values.setdefault(in_words(value, declared.unset), []).append(grid.title(condition))
        open_before = any(getattr(asked[each], name) != getattr(recipe, name) for each, recipe in filled_in.items())
        used.append(SettingUsed(name, values, open_before))
    return used


def varied_settings(grid: Grid) -> list[str]:
    """The settings in which the compared recipes differ, beside those that differ in every comparison."""
    recipes = [recipe for name, recipe in grid.recipes.items() if name not in grid.references]
    return [
        name for name in settings_of(Recipe)
        if name not in OF_RUNS and any(getattr(recipe, name) != getattr(grid.base, name) for recipe in recipes)
    ]  # fmt: skip


def variants_in_words(grid: Grid) -> dict[str, dict[str, str]]:
    """What each variant sets, by its name: its method, and the settings that differ; empty if only methods differ."""
    varied = varied_settings(grid)
    if not varied:
        return {}
    unset = {name: declared.unset for name, declared in settings_of(Recipe).items()}
    return {
        variant: {name: in_words(getattr(recipe, name), unset[name]) for name in ("method", "method_options", *varied)}
        for variant, recipe in grid.recipes.items() if variant not in grid.references
    }  # fmt: skip


def in_words(value: Any, unset: str = "") -> str:
    """A setting's value as text: a text as it is, anything else as JSON, an empty mapping as "none".

    Args:
        unset: what None stands for.
    """
    if value is None:
        return unset or "none"
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False) if value != {} else "none"


def distinct(mappings: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """By name, the different values that several mappings have, in the order in which they occur."""
    found: dict[str, dict[str, None]] = {}
    for mapping in mappings:
        for name, value in mapping.items():
            found.setdefault(name, {})[str(value)] = None
    return {name: list(values) for name, values in found.items()}
