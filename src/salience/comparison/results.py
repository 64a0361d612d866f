"""The result of a comparison: the scores of every run, and the differences of every method from the baseline."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from salience.comparison.grid import Condition, Grid, Run, mixed_data_sets
from salience.comparison.kept_runs import KeptRun
from salience.comparison.paired_difference import PairedDifference, adjusted, paired_difference
from salience.errors import InputError
from salience.files import whole_file
from salience.scores.labels import AT_THRESHOLDS, IN_PERCENT, Labels, labels_in
from salience.training.measures import MEASURES, Column, Measure
from salience.training.recipe import Plan, Recipe

if TYPE_CHECKING:
    from pandas import DataFrame

# The scores of a run of a comparison: those of each test row, or one number.

SCALED = "calibration_error_scaled"  # with a temperature, as metrics.json has it
Columns = dict[str, dict[str, Column]]  # measure to its columns


def columns_of(runs: Iterable[KeptRun], measures: Mapping[str, Measure]) -> Columns:
    """The numbers of measures that some run has.

    Args:
        runs: the finished runs.
        measures: measures beside those of `MEASURES`, or in the place of those of the same names.
    """
    runs = list(runs)
    found: Columns = {}
    for name, measure in (MEASURES | dict(measures)).items():
        measured = {each for run in runs for each in run.metrics.get(name, {})}
        found[name] = {score: column for score, column in measure.columns.items() if score in measured}
    return found


def values_of(run: KeptRun, columns: Columns) -> dict[str, np.ndarray]:
    """The scores of a run: those of each test row (N,), or one number; those of `IN_PERCENT` in percent.

    Runs of a comparison have no estimate, so that all labels have the threshold 0.5, and no scores at others are kept.
    The intervals of a single run are left out, too.
    """
    by_row = run.scoring.row_scores(run.probabilities, run.labels)
    tested = run.metrics["test"].items()
    whole = {name: number(value) for name, value in tested if not name.endswith((AT_THRESHOLDS, "_interval"))}
    scaled = run.metrics["temperature_scaling"]
    whole |= {name: np.array(scaled[name]) for name in ("temperature", SCALED) if name in scaled}
    # References have no passes.
    spent = {name: np.array(run.metrics[name]) for name in ("text_passes", "seconds") if name in run.metrics}
    measured = {
        score: number(run.metrics[name][score]) * column.scale
        for name, of_measure in columns.items() for score, column in of_measure.items()
        if score in run.metrics.get(name, {})
    }  # fmt: skip
    found = {name: value * (100 if name in IN_PERCENT else 1) for name, value in (whole | by_row).items()}
    return found | measured | spent


def number(value: float | None) -> np.ndarray:
    """A value of JSON as a number; NaN where it is null."""
    return np.array(math.nan if value is None else value)


def finite(value: Any) -> Any:
    """A JSON value with null in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def same_scoring(runs: Mapping[Run, KeptRun]) -> Labels:
    """How all runs are scored.

    Raises:
        InputError: some data sets have one label for each text, and others several.
    """
    first, *others = runs.items()
    for (condition, _, _), run in others:
        if run.scoring is not first[1].scoring:
            raise mixed_data_sets(first[0][0].data, condition.data)
    return first[1].scoring


# The F1 of every class: in which classes methods differ.


@dataclass(frozen=True)
class ClassScores:
    """The F1 of every class in one condition, in percent.

    Attributes:
        names: of the classes (C,).
        rows: number of test rows of each class (C,).
        f1: method to values (S, C), one for each seed and class.
    """

    names: list[str]
    rows: list[int]
    f1: dict[str, list[list[float]]]

    def by_run(self, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
        """A row for every method, seed and class: these, the number of test rows, and the F1."""
        for method, by_seed in self.f1.items():
            for seed, values in zip(seeds, by_seed, strict=True):
                for name, rows, value in zip(self.names, self.rows, values, strict=True):
                    yield {"method": method, "seed": seed, "class": name, "rows": rows, "f1": value}


def class_scores_of(
    runs: Mapping[Run, KeptRun], condition: Condition, methods: Sequence[str], seeds: Sequence[int]
) -> ClassScores:
    """The F1 of every class, method and seed in a condition.

    Args:
        runs: the finished runs.
        condition: of the runs.
        methods: all methods, the baseline first.
        seeds: the seeds (S,).
    """
    first = runs[condition, methods[0], seeds[0]]
    f1 = {
        method: [
            (100 * run.scoring.class_scores(run.probabilities, run.labels)["f1"]).tolist()
            for run in (runs[condition, method, seed] for seed in seeds)
        ]
        for method in methods
    }
    rows = first.scoring.class_scores(first.probabilities, first.labels)["support"]
    return ClassScores(list(first.names), rows.tolist(), f1)


# The scores of all runs of a grid, and the differences of its methods from the baseline.


@dataclass(frozen=True)
class GridScores:
    """The scores of all runs of a grid.

    Args:
        grid: the grid.
        values: of each run, score to values: those of each test row (N,), or one number.
    """

    grid: Grid
    values: Mapping[Run, Mapping[str, np.ndarray]]

    @property
    def compared(self) -> list[str]:
        """The methods that are compared with the baseline."""
        return [method for method in self.grid.recipes if method not in (self.grid.baseline, *self.grid.references)]

    def of_seeds(self, condition: Condition, method: str, score: str) -> np.ndarray:
        """The values of the seeds (S, N) or (S,). A score that the runs do not have is NaN."""
        missing = np.array(math.nan)
        return np.array([self.values[condition, method, seed].get(score, missing) for seed in self.grid.seeds])

    def means(self, condition: Condition, method: str) -> dict[str, list[float]]:
        """The scores of a method and their means over the test rows, one for each seed."""
        seeds = self.grid.seeds
        return {
            score: self.of_seeds(condition, method, score).reshape(len(seeds), -1).mean(1).tolist()
            for score in self.names(condition, method)
        }

    def names(self, condition: Condition, method: str) -> Iterable[str]:
        """The scores that a method has in a condition, as its run with the first seed has them."""
        return self.values[condition, method, self.grid.seeds[0]]

    def all_trained_have(self, score: str) -> bool:
        """Whether all runs of methods have a score that is finite; references may be without it."""
        return all(
            bool(np.isfinite(values.get(score, math.nan)))
            for (_, method, _), values in self.values.items()
            if method not in self.grid.references
        )

    def differences(
        self, groups: Sequence[Sequence[Condition]], score: str, over_sets: bool = False
    ) -> list[dict[str, PairedDifference]]:
        """For each group of conditions, method to its difference from the baseline.

        Intervals and p-values are adjusted over all groups and methods. References are no claims: they have no
        difference here, and neither widen intervals nor raise p-values.

        Args:
            groups: the conditions over which a difference is the mean.
            score: the score that is compared.
            over_sets: as of `paired_difference`.
        """
        found = [
            paired_difference(
                [self.of_seeds(condition, method, score) for condition in group],
                [self.of_seeds(condition, self.grid.baseline, score) for condition in group],
                over_sets, comparisons=len(groups) * len(self.compared),
            )
            for group in groups for method in self.compared
        ]  # fmt: skip
        rows = iter(adjusted(found))
        return [{method: next(rows) for method in self.compared} for _ in groups]

    def of_references(self, condition: Condition, scores: Sequence[str]) -> dict[str, dict[str, float]]:
        """Reference to score to its mean difference from the baseline, for those of the scores that it has."""
        baseline = self.grid.baseline
        return {
            name: {
                score: float(
                    (self.of_seeds(condition, name, score) - self.of_seeds(condition, baseline, score)).mean()
                )
                for score in scores
                if score in self.names(condition, name)
            }
            for name in self.grid.references
        }


@dataclass(frozen=True)
class ConditionResults:
    """The methods on one data set, with one model and one number of training rows.

    The scores of `salience.scores.labels.IN_PERCENT` are in percent, and so are their differences.

    Attributes:
        condition: what the runs have in common.
        title: the condition in words, as far as it differs from others; empty for the only one.
        rows: number of test rows.
        scores: method to score to values (S,), one for each seed. "seconds" is the time of a run.
        differences: method to score to its difference from the baseline, over draws and test rows. The baseline has
            none, and neither have references.
        references: reference row to score to its mean difference from the baseline, where it has the score. No claim
            is made about it, so it has no interval and no p-value.
        classes: the F1 of every class.
        measured: those of the scores that are of measures, by name. Their differences are computed if all runs of
            methods have them.
    """

    condition: Condition
    title: str
    rows: int
    scores: dict[str, dict[str, list[float]]]
    differences: dict[str, dict[str, PairedDifference]]
    references: dict[str, dict[str, float]]
    classes: ClassScores
    measured: dict[str, Column] = field(default_factory=dict)

    @property
    def baseline(self) -> str:
        """The first method."""
        return next(iter(self.scores))

    @property
    def scoring(self) -> Labels:
        """How the runs are scored: by one label for each text, or by several."""
        return labels_in(self.scores[self.baseline])

    def times(self, method: str) -> float:
        """The time of a method's runs as a multiple of the baseline's."""
        return sum(self.scores[method]["seconds"]) / max(sum(self.scores[self.baseline]["seconds"]), 1e-9)


@dataclass(frozen=True)
class OverDataSets:
    """The differences from the baseline over several data sets, with one model and one number of training rows.

    Attributes:
        model, size: of the conditions.
        title: both in words, as far as they differ from others.
        here: method to its difference in the main score on these data sets.
        elsewhere: method to the same difference on other data sets, of which these are taken for a sample.
    """

    model: str
    size: int | None
    title: str
    here: dict[str, PairedDifference]
    elsewhere: dict[str, PairedDifference]


@dataclass(frozen=True)
class Comparison:
    """The scores of every method, and their differences from the first method, the baseline.

    Intervals of a score hold together at 95 % over all methods and conditions (Bonferroni); p-values are adjusted over
    all of them by Holm. References are not among them. docs/statistics.md says how both are computed.

    Attributes:
        seeds: the seeds (S,).
        conditions: the results of each condition.
        over_data_sets: the results over several data sets; empty if there is one data set.
    """

    seeds: list[int]
    conditions: list[ConditionResults]
    over_data_sets: list[OverDataSets]

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
            asdict(each.condition) | row for each in self.conditions for row in each.classes.by_run(self.seeds)
        ])  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """All values, as JSON knows them: null stands for an infinite number of draws."""
        return finite(asdict(self))


def comparison_of(
    runs: Mapping[Run, KeptRun], grid: Grid, measures: Mapping[str, Measure] | None = None
) -> Comparison:
    """The comparison of all runs. The values of each method are paired with those of the first one.

    Args:
        runs: the finished runs.
        grid: the grid that they are of.
        measures: those whose numbers are shown beside those of `salience.training.measures.MEASURES`, by name.

    Raises:
        InputError: some data sets have one label for each text, and others several.
    """
    scoring = same_scoring(runs)
    columns = columns_of(runs.values(), measures or {})
    scores = GridScores(grid, {run: values_of(kept, columns) for run, kept in runs.items()})
    measured = {score: column for of_measure in columns.values() for score, column in of_measure.items()}
    compared = [*scoring.compared, *filter(scores.all_trained_have, measured)]
    conditions = list(grid.conditions())
    differences = {score: scores.differences([[each] for each in conditions], score) for score in compared}
    results = [
        ConditionResults(
            condition,
            title=grid.title(condition),
            rows=len(runs[condition, grid.baseline, grid.seeds[0]].labels),
            scores={method: scores.means(condition, method) for method in grid.recipes},
            differences={
                method: {score: differences[score][number][method] for score in compared} for method in scores.compared
            },
            references=scores.of_references(condition, compared),
            classes=class_scores_of(runs, condition, list(grid.recipes), grid.seeds),
            measured=measured,
        )
        for number, condition in enumerate(conditions)
    ]
    return Comparison(list(grid.seeds), results, over_data_sets(scores, scoring.main))


def over_data_sets(scores: GridScores, main: str) -> list[OverDataSets]:
    """The differences over the data sets of a grid, for each model and size; none if there is one data set.

    Args:
        scores: of the runs.
        main: the score that is compared.
    """
    grid = scores.grid
    if len(grid.data_sets) < 2:
        return []
    groups: dict[tuple[str, int | None], list[Condition]] = {}
    for condition in grid.conditions():
        groups.setdefault((condition.model, condition.size), []).append(condition)
    here, elsewhere = (scores.differences(list(groups.values()), main, over_sets) for over_sets in (False, True))
    of_all_sets = replace(grid, data_sets={})  # whose titles name no data set
    return [
        OverDataSets(model, size, of_all_sets.title(group[0]), here[number], elsewhere[number])
        for number, ((model, size), group) in enumerate(groups.items())
    ]


# The files of a comparison beside its runs: what was compared, its result, and a table of all runs.

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

    recipes: list[tuple[Recipe, Plan]] = field(default_factory=list)
    costs: list[tuple[str, Recipe, float]] = field(default_factory=list)
    several: dict[str, bool] = field(default_factory=dict)


def read_known(output: Path) -> Known:
    """What earlier commands found out; nothing if the file is missing or damaged."""
    try:
        found = json.loads((output / GRID).read_text(encoding="utf-8"))
        return Known(
            [(Recipe.from_mapping(asked), Plan.from_mapping(plan)) for asked, plan in found["recipes"]],
            [(str(budget), Plan.from_mapping(of), float(cost)) for budget, of, cost in found.get("costs", [])],
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
