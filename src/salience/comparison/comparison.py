"""A finished comparison: scores, differences, and what a report shows beside them; and its files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salience.comparison.grid import OF_ESTIMATE, OF_METHOD, PATIENCE, Condition, Grid, Key
from salience.comparison.heat_maps import EXPLANATIONS, HeatMaps
from salience.comparison.results import (
    ConditionResults,
    OverDataSets,
    SeedPredictions,
    results_of,
    seed_predictions,
)
from salience.errors import InputError
from salience.files import whole_file
from salience.runs.results import Run
from salience.scores.labels import Labels
from salience.settings import settings_of
from salience.training.measures import Measure
from salience.training.recipe import Plan, Recipe

if TYPE_CHECKING:
    from pandas import DataFrame

# The files of a comparison beside its runs: its result, tables of all runs and all classes, and its report.
COMPARISON, RUNS, CLASSES = "comparison.json", "results.csv", "classes.csv"
REPORTS = ("report.html", "report.md")
# Settings that differ between the runs of every comparison, or have no effect on any.
OF_RUNS = (*OF_METHOD, *OF_ESTIMATE, "seed")


@dataclass(frozen=True)
class LearningCurves:
    """The main score of every method against the number of labelled rows, on one data set with one model.

    Attributes:
        title: data set and model in words, as far as they differ from others.
        rows: numbers of labelled rows (K,), ascending.
        values: method to its main scores in percent (K, S), one for each size and seed.
        score: the title of the main score, such as "accuracy".
    """

    title: str
    rows: list[int]
    values: dict[str, list[list[float]]]
    score: str = "accuracy"


@dataclass(frozen=True)
class Provenance:
    """Where the runs come from: their recipe, and the versions and machines that made them.

    Attributes:
        runs: their number.
        variants: name of a variant to its method and the settings in which variants differ; empty if only methods do.
        settings: all other settings of the baseline as they were used: the name, each value with the titles of the
            conditions that have it, and whether it was left open and followed from data, model or machine.
        about: name of a library, or what is known of a machine such as "device", to its values, most often one.
    """

    runs: int = 0
    variants: dict[str, dict[str, str]] = field(default_factory=dict)
    settings: list[tuple[str, dict[str, list[str]], bool]] = field(default_factory=list)
    about: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """The scores of every method, and their differences from the first method, the baseline.

    Intervals of a score hold together at 95 % over all methods and conditions (Bonferroni); p-values are adjusted over
    all of them by Holm. References are not among them. docs/concepts/statistics.md says how both are computed.

    Attributes:
        seeds: the seeds (S,).
        conditions: the results of each condition.
        over_data_sets: the results over several data sets; empty if there is one data set.
        curves: learning curves of each data set and model; empty if there is one size.
        predictions: those of each data set and model with the largest number of training rows.
        provenance: the recipe, the versions and the machines of the runs.
        drawn: of each condition, whether its seeds train on different rows; without a number of rows, and without
            rows that are held out, all of them train on all rows.
        heat_maps: explanations of the texts on which methods disagree.
    """

    seeds: list[int]
    conditions: list[ConditionResults]
    over_data_sets: list[OverDataSets]
    curves: list[LearningCurves] = field(default_factory=list)
    predictions: list[SeedPredictions] = field(default_factory=list)
    provenance: Provenance = field(default_factory=Provenance)
    drawn: list[bool] = field(default_factory=list)
    heat_maps: HeatMaps = field(default_factory=HeatMaps)

    @property
    def baseline(self) -> str:
        """The first method."""
        return self.conditions[0].baseline

    @property
    def scoring(self) -> Labels:
        """How the runs are scored, which is the same in all conditions."""
        return self.conditions[0].scoring

    @property
    def methods(self) -> list[str]:
        """All methods, the baseline first, and the references."""
        return list(self.conditions[0].scores)

    def frame(self) -> DataFrame:
        """A row for every run: its condition, method, seed and scores."""
        from pandas import DataFrame

        return DataFrame([
            asdict(results.condition) | {"method": method, "seed": seed}
            | {score: values[row] for score, values in scores.items()}
            for results in self.conditions for method, scores in results.scores.items()
            for row, seed in enumerate(self.seeds)
        ])  # fmt: skip

    def class_frame(self) -> DataFrame:
        """A row for every run and class: condition, method, seed, class, its number of test rows, and its F1."""
        from pandas import DataFrame

        return DataFrame([
            asdict(each.condition) | {"method": method, "seed": seed, "class": name, "rows": rows, "f1": value}
            for each in self.conditions for method, by_seed in each.classes.f1.items()
            for seed, values in zip(self.seeds, by_seed, strict=True)
            for name, rows, value in zip(each.classes.names, each.classes.rows, values, strict=True)
        ])  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """Seeds, conditions and results over data sets, as JSON knows them: null stands for what is not finite."""

        def finite(value: Any) -> Any:
            if isinstance(value, dict):
                return {name: finite(each) for name, each in value.items()}
            if isinstance(value, list | tuple):
                return [finite(each) for each in value]
            return None if isinstance(value, float) and not math.isfinite(value) else value

        several = {name: list(map(asdict, getattr(self, name))) for name in ("conditions", "over_data_sets")}
        return finite({"seeds": self.seeds, **several})


def comparison_of(
    grid: Grid, runs: Mapping[Key, Run], recipes: Mapping[Condition, Plan],
    measures: Mapping[str, Measure] | None = None,
) -> Comparison:  # fmt: skip
    """The comparison of all runs of a grid, without heat maps. Reads the disputed texts from a few runs' folders.

    Args:
        recipes: the plan of the baseline in each condition.
    """
    conditions, over = results_of(grid, runs, measures)
    scoring, largest = conditions[0].scoring, grid.largest()
    groups: dict[tuple[str, str], list[tuple[int, ConditionResults]]] = {}  # each with its number of labelled rows
    for results in conditions:
        condition = results.condition
        rows = condition.size
        if rows is None:  # those that are held out of them for validation are drawn, too
            counts = runs[condition, grid.baseline, grid.seeds[0]].metrics["rows"]
            rows = counts["training"] + (counts.get("validation", 0) if recipes[condition].validation is None else 0)
        groups.setdefault((condition.data, condition.model), []).append((rows, results))
    curves = []
    for group in groups.values():
        if len(group) > 1:
            sizes, ordered = zip(*sorted(group, key=lambda each: each[0]), strict=True)
            values = {method: [each.scores[method][scoring.main] for each in ordered] for method in grid.recipes}
            title = replace(grid, sizes=()).title(ordered[0].condition)
            curves.append(LearningCurves(title, list(sizes), values, scoring.main_title))
    return Comparison(
        list(grid.seeds), conditions, over, curves,
        [seed_predictions(each, grid.seeds, runs) for each in conditions if each.condition in largest],
        provenance_of(grid, runs.values(), recipes),
        [each.condition.size is not None or bool(recipes[each.condition].validation_share) for each in conditions],
    )  # fmt: skip


def provenance_of(grid: Grid, runs: Iterable[Run], recipes: Mapping[Condition, Plan]) -> Provenance:
    """Where the runs of a grid come from; arguments as of `comparison_of`."""
    declared, base = settings_of(Recipe), grid.recipes[grid.baseline]

    def in_words(name: str, value: Any) -> str:
        if value is None:
            return declared[name].unset or "none"
        if isinstance(value, str):
            return value
        return json.dumps(value, ensure_ascii=False) if value != {} else "none"

    compared = {name: grid.recipes[name] for name in grid.methods}
    settable = [name for name in declared if name not in OF_RUNS]
    varied = [
        name for name in settable if any(getattr(each, name) != getattr(base, name) for each in compared.values())
    ]
    variants = {
        variant: {name: in_words(name, getattr(recipe, name)) for name in (*OF_METHOD, *varied)}
        for variant, recipe in compared.items() if varied
    }  # fmt: skip
    settings = []
    for name in (name for name in settable if name not in varied):
        values: dict[str, list[str]] = {}
        open_before = False
        for condition, recipe in recipes.items():
            used = getattr(recipe, name)
            values.setdefault(in_words(name, used), []).append(grid.title(condition))
            open_before |= getattr(grid.recipe(condition, grid.baseline, grid.seeds[0]), name) != used
        settings.append((name, values, open_before))
    about: dict[str, dict[str, None]] = {}
    count = 0
    for run in runs:
        count += 1
        for name, value in (run.metrics.get("versions", {}) | run.metrics.get("machine", {})).items():
            about.setdefault(name, {})[str(value)] = None
    return Provenance(count, variants, settings, {name: list(values) for name, values in about.items()})


def check_comparison(output: Path) -> None:
    """Raises an `InputError` if a folder has a file of the names of a comparison's that no comparison wrote."""
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
        known = {"seeds", "conditions"} <= json.loads(file.read_text(encoding="utf-8")).keys()
    except (OSError, ValueError, AttributeError):
        known = False
    if not known:
        raise InputError(f"{file} was not written by a comparison and is not replaced: choose another --output")


def write_comparison(comparison: Comparison, output: Path) -> None:
    """Writes the result, the table of all runs, and that of all classes."""
    write(output / COMPARISON, json.dumps(comparison.as_json(), indent=2) + "\n")
    write(output / RUNS, comparison.frame().to_csv(index=False, lineterminator="\n"))
    write(output / CLASSES, comparison.class_frame().to_csv(index=False, lineterminator="\n"))


def write_reports(page: str, markdown: str, output: Path) -> None:
    """Writes the report of a comparison, as a page and as Markdown."""
    for name, text in zip(REPORTS, (page, markdown), strict=True):
        write(output / name, text)


def write(file: Path, text: str) -> None:
    """Writes a file that several commands may write."""
    with whole_file(file, PATIENCE) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
