"""Where the runs of a comparison come from: their recipe, and the versions and machines that made them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from salience.comparison.grid import OF_ESTIMATE, OF_METHOD, Condition, Grid
from salience.comparison.kept_runs import KeptRun
from salience.settings import settings_of
from salience.training.recipe import Recipe

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
