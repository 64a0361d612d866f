"""A finished comparison: scores, differences, and what a report shows beside them; and its files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from salience.comparison.grid import OF_ESTIMATE, OF_METHOD, PATIENCE, Condition, Grid, Key
from salience.comparison.paired_difference import PairedDifference, adjusted, paired_difference
from salience.errors import InputError
from salience.explainers.explanation import Explanation
from salience.files import whole_file
from salience.runs.results import Run, read_rows
from salience.scores.labels import AT_THRESHOLDS, IN_PERCENT, ONE_LABEL, Bin, Labels, labels_in, labels_of
from salience.scores.predictions import Predictions
from salience.settings import settings_of
from salience.training.measures import MEASURES, Column, Measure
from salience.training.recipe import Plan, Recipe

if TYPE_CHECKING:
    from pandas import DataFrame

# The files of a comparison beside its runs: its result, tables of all runs and all classes, and its report.
COMPARISON, RUNS, CLASSES = "comparison.json", "results.csv", "classes.csv"
REPORTS = ("report.html", "report.md")
EXPLANATIONS = "explanations.jsonl"  # of disputed texts
# Settings that differ between the runs of every comparison, or have no effect on any.
OF_RUNS = (*OF_METHOD, *OF_ESTIMATE, "seed")
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

    The scores of `salience.scores.labels.IN_PERCENT` are in percent, and so are their differences. No claim is made
    about references, so that their mean differences have no interval and no p-value.
    """

    condition: Condition
    title: str  # the condition in words, as far as it differs from others; empty for the only one
    rows: int  # test rows
    scores: dict[str, dict[str, list[float]]]  # method to score to values (S,), one for each seed; the baseline first
    differences: dict[str, dict[str, PairedDifference]]  # of all but the baseline and references, from the baseline
    references: dict[str, dict[str, float]]  # reference to score to its mean difference, where it has the score
    classes: ClassScores
    measured: dict[str, Column] = field(default_factory=dict)  # those of the scores that are of measures

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
    """The differences of methods from the baseline in the main score over several data sets."""

    model: str
    size: int | None
    title: str  # model and size in words, as far as they differ from others
    here: dict[str, PairedDifference]  # on these data sets
    elsewhere: dict[str, PairedDifference]  # on other data sets, of which these are taken for a sample


@dataclass(frozen=True)
class DisputedText:
    """A test text that the seeds of a method mostly predict otherwise than those of the baseline."""

    row: int  # its number in the test file, as in predictions.jsonl
    text: str
    second: str | None  # the second text of a pair
    label: str  # the name of its class, or of its labels, in words
    predicted: dict[str, tuple[str, int]]  # by a method: what most seeds predict, and the number of these seeds
    contested: str | None = None  # the label about which methods differ most; None where a text has one label


@dataclass(frozen=True)
class SeedPredictions:
    """What the seeds of all methods predict for the test rows of one condition."""

    results: ConditionResults
    labels: list[str]  # names of the classes (C,)
    reliability: dict[str, list[Bin]]  # the reliability diagram of each method
    confusions: dict[str, np.ndarray]  # mean rows of each label with each prediction (C, C); empty of several labels
    disputed: int  # test rows on which a majority of seeds differs from the baseline's
    texts: list[DisputedText]  # those with the largest disagreement, at most `TEXTS`


@dataclass(frozen=True)
class LearningCurves:
    """The main score of every method against the number of labelled rows, on one data set with one model."""

    title: str  # data set and model in words, as far as they differ from others
    rows: list[int]  # numbers of labelled rows (K,), ascending
    values: dict[str, list[list[float]]]  # method to its main scores in percent (K, S), one for each size and seed
    score: str = "accuracy"  # the title of the main score


@dataclass(frozen=True)
class Provenance:
    """Where the runs come from: their recipe, and the versions and machines that made them."""

    runs: int = 0
    variants: dict[str, dict[str, str]] = field(default_factory=dict)  # settings of each; empty if only methods differ
    # All other settings of the baseline as they were used: their values, and whether they were left open before.
    settings: dict[str, tuple[list[str], bool]] = field(default_factory=dict)
    about: dict[str, list[str]] = field(default_factory=dict)  # versions of a library, or values such as of "device"


@dataclass(frozen=True)
class HeatMaps:
    """The explanations that a report shows."""

    seed: int | None = None  # of the runs whose models explain; None if there are no heat maps
    explainer: str = ""
    of_texts: Mapping[tuple[Condition, int], Mapping[str, Explanation]] = field(default_factory=dict)  # row to method
    missing: list[str] = field(default_factory=list)  # why methods have none


@dataclass(frozen=True)
class Comparison:
    """The scores of every method, and their differences from the first method, the baseline.

    Intervals of a score hold together at 95 % over all methods and conditions (Bonferroni); p-values are adjusted over
    all of them by Holm. References are not among them. docs/statistics.md says how both are computed.

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

    `recipes` are the plans of the baseline.
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
    found |= {name: np.array(scaled[name]) for name in ("temperature", SCALED) if name in scaled}
    found |= scoring.row_scores(predictions.probabilities, predictions.labels)
    found = {name: value * (100 if name in IN_PERCENT else 1) for name, value in found.items()}
    for measure, score, column in columns:
        if score in metrics.get(measure, {}):
            found[score] = number(metrics[measure][score]) * column.scale
    # References have no passes.
    return found | {name: np.array(metrics[name]) for name in ("text_passes", "seconds") if name in metrics}


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
    settings = {}
    for name in (name for name in settable if name not in varied):
        used = {condition: getattr(recipe, name) for condition, recipe in recipes.items()}
        asked = {each: getattr(grid.recipe(each, grid.baseline, grid.seeds[0]), name) for each in recipes}
        settings[name] = list(dict.fromkeys(in_words(name, value) for value in used.values())), used != asked
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
