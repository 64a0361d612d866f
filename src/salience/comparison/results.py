"""The scores of every method in every condition of a comparison, their differences, and what seeds say together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from salience.comparison.grid import Condition, Grid, Key
from salience.comparison.paired_difference import PairedDifference, adjusted, paired_difference
from salience.runs.results import Run, read_rows
from salience.runs.sentences import left_out
from salience.scores.labels import AT_THRESHOLDS, IN_PERCENT, ONE_LABEL, Bin, Labels, labels_in, labels_of
from salience.scores.predictions import Predictions
from salience.training.measures import MEASURES, Column, Measure

TEXTS = 10  # shown of those that methods disagree on
SCALED = "calibration_error_scaled"  # with a temperature, as metrics.json has it


@dataclass(frozen=True)
class ClassScores:
    """The F1 of every class in one condition, in percent, of each method for each seed and class (S, C)."""

    names: list[str]
    rows: list[int]  # test rows of each class
    f1: dict[str, list[list[float]]]


@dataclass(frozen=True)
class ConditionResults:
    """The methods on one data set, with one model and one number of training rows.

    The scores of `salience.scores.labels.IN_PERCENT` are in percent, and so are their differences.

    Attributes:
        condition: what the runs have in common.
        title: the condition in words, as far as it differs from others; empty for the only one.
        rows: number of test rows.
        scores: method to score to values (S,), one for each seed. "seconds" is the time of a run.
        differences: method to score to its difference from the baseline, over samples and test rows. The baseline has
            none, and neither have references.
        references: reference row to score to its mean difference from the baseline, where it has the score. No claim
            is made about it, so it has no interval and no p-value.
        classes: the F1 of every class.
        measured: those of the scores that are of measures, by name. Their differences are computed if all runs of
            methods have them.
        left_out: how many test rows the scores leave out, in words; empty if none.
    """

    condition: Condition
    title: str
    rows: int
    scores: dict[str, dict[str, list[float]]]
    differences: dict[str, dict[str, PairedDifference]]
    references: dict[str, dict[str, float]]
    classes: ClassScores
    measured: dict[str, Column] = field(default_factory=dict)
    left_out: str = ""

    @property
    def test_rows(self) -> str:
        """The number of test rows in words, and that of those without scores."""
        return f"{self.rows:,} test rows" + (f" ({self.left_out})" if self.left_out else "")

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
        title: model and size in words, as far as they differ from others.
        here: method to its difference in the main score on these data sets.
        elsewhere: method to the same difference on other data sets, of which these are taken for a sample.
    """

    model: str
    size: int | None
    title: str
    here: dict[str, PairedDifference]
    elsewhere: dict[str, PairedDifference]


def predictions_of(run: Run) -> Predictions:
    """The predictions of a run of a comparison, which has test rows."""
    assert run.predictions is not None
    return run.predictions


def results_of(
    grid: Grid, runs: Mapping[Key, Run], measures: Mapping[str, Measure] | None = None
) -> tuple[list[ConditionResults], list[OverDataSets]]:
    """The results of each condition, and over several data sets for each model and size; none for one data set.

    The values of each method are paired with those of the baseline. Intervals of a score hold together over all
    conditions and methods, and p-values are adjusted over them. References are no claims: they have no interval, and
    neither widen intervals nor raise p-values. `measures` are shown beside those of `MEASURES`.
    """
    conditions, seeds = list(grid.conditions()), list(grid.seeds)
    baseline, *compared = grid.methods
    scoring = labels_of(predictions_of(runs[conditions[0], baseline, seeds[0]]).labels)
    columns = [
        (measure, score, column)
        for measure, each in (MEASURES | dict(measures or {})).items() for score, column in each.columns.items()
        if any(score in run.metrics.get(measure, {}) for run in runs.values())
    ]  # fmt: skip
    missing = np.array(math.nan)
    values: dict[tuple[Condition, str], dict[str, np.ndarray]] = {}  # score to (S, N), or (S,)
    for condition, method in product(conditions, grid.recipes):
        own = [values_of(runs[condition, method, seed], scoring, columns) for seed in seeds]
        values[condition, method] = {score: np.array([each.get(score, missing) for each in own]) for score in own[0]}

    def differences(
        groups: Sequence[Sequence[Condition]], score: str, over_sets: bool = False
    ) -> list[dict[str, PairedDifference]]:
        def of_group(method: str, group: Sequence[Condition]) -> list[np.ndarray]:
            return [values[condition, method][score] for condition in group]

        family = adjusted([
            paired_difference(
                of_group(method, group), of_group(baseline, group), over_sets, comparisons=len(groups) * len(compared)
            )
            for group in groups for method in compared
        ])  # fmt: skip
        rows = iter(family)
        return [{method: next(rows) for method in compared} for _ in groups]

    shown = [*scoring.compared]
    for _, score, _ in columns:
        if all(np.isfinite(values[key].get(score, math.nan)).all() for key in product(conditions, grid.methods)):
            shown.append(score)
    found = {score: differences([[each] for each in conditions], score) for score in shown}
    results = []
    for number, condition in enumerate(conditions):
        of_classes: dict[str, list[dict[str, np.ndarray]]] = {}
        for method in grid.recipes:
            predicted = [predictions_of(runs[condition, method, seed]) for seed in seeds]
            of_classes[method] = [scoring.class_scores(each.probabilities, each.labels) for each in predicted]
        references: dict[str, dict[str, float]] = {method: {} for method in grid.references}
        for method, score in product(grid.references, shown):
            if score in values[condition, method]:
                apart = values[condition, method][score] - values[condition, baseline][score]
                references[method][score] = float(apart.mean())
        first = runs[condition, baseline, seeds[0]]
        results.append(ConditionResults(
            condition,
            title=grid.title(condition),
            rows=len(predictions_of(first)),
            scores={
                method: {
                    score: by_seed.reshape(len(seeds), -1).mean(1).tolist()
                    for score, by_seed in values[condition, method].items()
                }
                for method in grid.recipes
            },
            differences={method: {score: found[score][number][method] for score in shown} for method in compared},
            references=references,
            classes=ClassScores(
                list(first.labels), of_classes[baseline][0]["support"].tolist(),
                {method: [(100 * each["f1"]).tolist() for each in by_seed] for method, by_seed in of_classes.items()},
            ),
            measured={score: column for _, score, column in columns},
            left_out=left_out(first.metrics),
        ))  # fmt: skip
    groups: dict[tuple[str, int | None], list[Condition]] = {}
    for condition in conditions if len(grid.data_sets) > 1 else []:
        groups.setdefault((condition.model, condition.size), []).append(condition)
    here, elsewhere = (differences(list(groups.values()), scoring.main, over_sets) for over_sets in (False, True))
    title = replace(grid, data_sets={}).title  # which names no data set
    return results, [
        OverDataSets(model, size, title(group[0]), here[number], elsewhere[number])
        for number, ((model, size), group) in enumerate(groups.items())
    ]


def values_of(run: Run, scoring: Labels, columns: Sequence[tuple[str, str, Column]]) -> dict[str, np.ndarray]:
    """The scores of a run: those of each test row (N,), or one number; those of `IN_PERCENT` in percent.

    Runs of a comparison have no estimate, so that all labels have the threshold 0.5, and no scores at others are kept.
    The intervals of a single run are left out, too. `columns` are those of measures: measure, score and column.
    """

    def number(value: float | None) -> np.ndarray:
        return np.array(math.nan if value is None else value)

    metrics, predictions = run.metrics, predictions_of(run)
    tested = metrics["test"].items()
    found = {name: number(value) for name, value in tested if not name.endswith((AT_THRESHOLDS, "_interval"))}
    scaled = metrics["temperature_scaling"]
    found |= {name: number(scaled[name]) for name in ("temperature", SCALED) if name in scaled}
    found |= scoring.row_scores(predictions.probabilities, predictions.labels)
    found = {name: value * (100 if name in IN_PERCENT else 1) for name, value in found.items()}
    for measure, score, column in columns:
        if score in metrics.get(measure, {}):
            found[score] = number(metrics[measure][score]) * column.scale
    # References have no passes.
    return found | {name: np.array(metrics[name]) for name in ("text_passes", "seconds") if name in metrics}


@dataclass(frozen=True)
class DisputedText:
    """A test text that the seeds of a method mostly predict otherwise than those of the baseline.

    Attributes:
        row: its number in the test file, as in predictions.jsonl.
        text, second: the text, and the second one of a pair; None for single texts.
        label: the name of its class, or of its labels, in words.
        predicted: method to the class or labels that most seeds predict, and the number of these seeds.
        contested: the label about which methods differ most; None where a text has one label.
    """

    row: int
    text: str
    second: str | None
    label: str
    predicted: dict[str, tuple[str, int]]
    contested: str | None = None


@dataclass(frozen=True)
class SeedPredictions:
    """What the seeds of all methods predict for the test rows of one condition.

    Attributes:
        results: the scores of the condition.
        labels: names of the classes (C,).
        reliability: method to the bins of its reliability diagram.
        confusions: method to the mean number of rows of each label with each prediction (C, C); empty where a text can
            have several labels, which do not exclude each other.
        disputed: number of test rows on which a majority of seeds differs from the baseline's.
        texts: those with the largest disagreement, at most `TEXTS`.
    """

    results: ConditionResults
    labels: list[str]
    reliability: dict[str, list[Bin]]
    confusions: dict[str, np.ndarray]
    disputed: int
    texts: list[DisputedText]


def seed_predictions(results: ConditionResults, seeds: Sequence[int], runs: Mapping[Key, Run]) -> SeedPredictions:
    """What the seeds of all methods predict in a condition. Disputed texts are read from a run's folder."""
    stacked = {
        method: np.stack([predictions_of(runs[results.condition, method, seed]).probabilities for seed in seeds])
        for method in results.scores
    }
    first = runs[results.condition, results.baseline, seeds[0]]
    labels, names = predictions_of(first).labels, list(first.labels)
    kind = labels_of(labels)
    distances = kind.disagreement(stacked[results.baseline], [stacked[method] for method in results.differences])
    distance = distances.max(1)
    shown = [row for row in np.argsort(-distance, kind="stable")[:TEXTS].tolist() if distance[row] > 0]
    texts = [
        DisputedText(
            each["row"], each["text"], each.get("text_pair"),
            kind.in_words(kind.right(labels[[row]], len(names))[0], names),
            {method: kind.chosen(probabilities, row, names) for method, probabilities in stacked.items()},
            names[distances[row].argmax()] if kind.several else None,
        )
        for row, each in zip(shown, read_rows(first.folder, shown), strict=True)
    ]  # fmt: skip
    return SeedPredictions(
        results, names, {method: kind.reliability(each, labels) for method, each in stacked.items()},
        {} if kind.several else {method: ONE_LABEL.confusion(each, labels) for method, each in stacked.items()},
        int((distance > 0).sum()), texts,
    )  # fmt: skip
