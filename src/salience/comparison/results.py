"""The result of a comparison: the scores of every run, and the differences of every method from the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from salience.comparison.class_scores import ClassScores, class_scores_of
from salience.comparison.grid import Condition, Grid, Run
from salience.comparison.grid_scores import GridScores
from salience.comparison.kept_runs import KeptRun
from salience.comparison.paired_difference import PairedDifference
from salience.comparison.run_scores import columns_of, finite, same_scoring, values_of
from salience.training.measured_scores import Column, Measure
from salience.training.scoring import Scoring, scoring_in

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class ConditionResults:
    """The methods on one data set, with one model and one number of training rows.

    The scores of `salience.training.scoring.IN_PERCENT` are in percent, and so are their differences.

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
    def scoring(self) -> Scoring:
        """How the runs are scored: by one label for each text, or by several."""
        return scoring_in(self.scores[self.baseline])

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
    def scoring(self) -> Scoring:
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
