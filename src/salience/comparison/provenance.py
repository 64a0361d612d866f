"""Where the runs of a comparison come from: their recipe, and the versions and machines that made them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from salience.comparison.grid import OF_METHOD, Condition, Grid
from salience.comparison.kept_runs import KeptRun
from salience.settings import settings_of
from salience.training.recipe import Recipe

OF_RUNS = (*OF_METHOD, "seed")  # settings that differ between the runs of a condition


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
        settings: all other settings.
        versions: name of a library to its versions, most often one.
        machine: what is known of the machines, such as "device", to its values, most often one.
    """

    runs: int
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
        len(metrics), settings_used(grid, filled_in),
        *(distinct(each.get(part, {}) for each in metrics) for part in ("versions", "machine")),
    )  # fmt: skip


def settings_used(grid: Grid, filled_in: Mapping[Condition, Recipe]) -> list[SettingUsed]:
    """Every setting that the runs of a condition share, with its values over all conditions."""
    baseline = next(iter(grid.recipes))
    asked = {each: grid.recipe(each, baseline, grid.seeds[0]) for each in filled_in}
    used = []
    for name, declared in settings_of(Recipe).items():
        if name in OF_RUNS:
            continue
        values: dict[str, list[str]] = {}
        for condition, recipe in filled_in.items():
            value = getattr(recipe, name)
            words = declared.unset or "none" if value is None else in_words(value)
            values.setdefault(words, []).append(grid.title(condition))
        open_before = any(getattr(asked[each], name) != getattr(recipe, name) for each, recipe in filled_in.items())
        used.append(SettingUsed(name, values, open_before))
    return used


def in_words(value: Any) -> str:
    """A setting's value as text: a text as it is, anything else as JSON, an empty mapping as "none"."""
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
