"""What the report of a finished grid shows: the comparison, and what its runs say beyond their scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from salience.comparison.grid import Condition
from salience.comparison.kept_runs import KeptRun, Provenance, provenance_of, read_rows
from salience.comparison.planning import FinishedGrid
from salience.comparison.results import EXPLANATIONS, PATIENCE, Comparison, ConditionResults
from salience.errors import counted
from salience.explainers.explanation import Explanation, as_json, explanation_of
from salience.files import whole_file

# The explanations of a comparison's texts in a file, so that a finished grid is reported without its models.
from salience.scores.labels import ONE_LABEL, Bin, labels_of
from salience.training.recipe import Recipe


@dataclass(frozen=True)
class ExplainedText:
    """What an explanation is of.

    Args:
        condition, method, seed: the run.
        predictions: `digest_of_run`; a run that was made again with other weights has another one.
        row: the number of the text in the test file.
    """

    condition: Condition
    method: str
    seed: int
    predictions: str
    row: int


@dataclass(frozen=True)
class HeatMaps:
    """The explanations that a report shows.

    Attributes:
        seed: of the runs whose models explain; None if there are no heat maps.
        explainer: its name.
        of_texts: condition and row of a text to method to explanation.
        missing: why methods have none, in lines of text.
    """

    seed: int | None = None
    explainer: str = ""
    of_texts: Mapping[tuple[Condition, int], Mapping[str, Explanation]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


Stored = dict[ExplainedText, Explanation]


def digest_of_run(run: KeptRun) -> str:
    """The SHA-256 of a run's predicted probabilities, by which explanations are known to be of its model."""
    return sha256(repr(run.names).encode("utf-8", "backslashreplace") + run.probabilities.tobytes()).hexdigest()


def read_explanations(output: Path, explainer: str, note: Callable[[str], None]) -> Stored:
    """The stored explanations by an explainer; none if there is no file. Damaged lines are left out, with a note.

    Args:
        output: the folder of the comparison.
        explainer: its name.
        note: called with a line of text.
    """
    file, found, damaged = output / EXPLANATIONS, {}, 0
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        note(f"{file} cannot be read ({error.strerror or error}): explanations are made anew")
        return {}
    for line in content.split(b"\n"):
        if not line.strip():
            continue
        try:
            key, explanation = from_row(json.loads(line))
        except (ValueError, RecursionError):  # also a UnicodeDecodeError
            damaged += 1
            continue
        if explainer in explanation.scores:
            found[key] = explanation
    if damaged:
        note(f"{file} is damaged in {counted(damaged, 'line')}: these explanations are made anew")
    return found


def write_explanations(output: Path, stored: Stored) -> None:
    """Writes explanations in place of those that were there, a line for each text and method."""
    lines = (json.dumps(as_row(key, explanation), ensure_ascii=False) for key, explanation in stored.items())
    with whole_file(output / EXPLANATIONS, PATIENCE) as unfinished:
        unfinished.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def as_row(key: ExplainedText, explanation: Explanation) -> dict[str, Any]:
    """A line of the file: what the explanation is of, and what `salience explain` writes of it."""
    of_run = {"method": key.method, "seed": key.seed, "predictions": key.predictions}
    return {**asdict(key.condition), **of_run, **as_json(explanation), "row": key.row}


def from_row(row: Any) -> tuple[ExplainedText, Explanation]:
    """What `as_row` wrote.

    Raises:
        ValueError: the line is damaged.
    """
    try:
        condition = Condition(row["data"], row["model"], row["size"])
        key = ExplainedText(condition, row["method"], row["seed"], row["predictions"], row["row"])
        hash(key)  # a list is no name
    except (KeyError, TypeError) as error:
        raise ValueError(f"no explanation ({type(error).__name__}: {error})") from error
    explanation = explanation_of(row)
    if explanation.row is None:
        raise ValueError("no explanation of a test row")
    return key, explanation


TEXTS = 10  # shown of those that methods disagree on


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
class Predictions:
    """What all methods predict for the test rows of one condition.

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

    @property
    def of_several(self) -> bool:
        """Whether a text can have several labels, whose decisions have no confusion matrix."""
        return not self.confusions


@dataclass(frozen=True)
class GridEvidence:
    """What the report of a comparison shows.

    Attributes:
        comparison: scores and differences.
        curves: learning curves of each data set and model; empty if there is one size.
        predictions: those of each data set and model with the largest number of training rows.
        provenance: the recipe, the versions and the machines of the runs.
        drawn: of each condition, whether its seeds train on different rows; without a number of rows, and without
            rows that are held out, all of them train on all rows.
        heat_maps: explanations of the texts on which methods disagree.
    """

    comparison: Comparison
    curves: list[LearningCurves]
    predictions: list[Predictions]
    provenance: Provenance
    drawn: list[bool]
    heat_maps: HeatMaps = field(default_factory=HeatMaps)


def grid_evidence(comparison: Comparison, finished: FinishedGrid) -> GridEvidence:
    """What the report of a finished grid shows. Reads one file of predictions for each data set and model.

    Args:
        comparison: of the runs.
        finished: the runs.

    Raises:
        InputError: the predictions of a run are missing or damaged.
    """
    grid, runs, filled_in = finished.grid, finished.runs, finished.filled_in
    first = {
        each.condition: runs[each.condition, comparison.baseline, grid.seeds[0]] for each in comparison.conditions
    }
    groups: dict[tuple[str, str], list[ConditionResults]] = {}
    for results in comparison.conditions:
        groups.setdefault((results.condition.data, results.condition.model), []).append(results)

    def drawn(results: ConditionResults) -> int:
        return rows_drawn(results.condition, first[results.condition], filled_in[results.condition])

    ordered, largest = [sorted(group, key=drawn) for group in groups.values()], grid.largest()
    return GridEvidence(
        comparison,
        [
            LearningCurves(
                replace(grid, sizes=()).title(group[0].condition), list(map(drawn, group)),
                {method: [results.scores[method][comparison.scoring.main] for results in group]
                 for method in comparison.methods},
                comparison.scoring.main_title,
            )
            for group in ordered if len(group) > 1
        ],
        [
            predictions_of(results, finished)
            for results in comparison.conditions if results.condition in largest
        ],
        provenance_of(grid, runs.values(), filled_in),
        [each.size is not None or bool(filled_in[each].validation_share) for each in first],
    )  # fmt: skip


def rows_drawn(condition: Condition, run: KeptRun, recipe: Recipe) -> int:
    """Number of labelled rows that a run drew; rows held out of them for validation are counted too."""
    if condition.size is not None:
        return condition.size
    rows = run.metrics["rows"]
    return rows["training"] + (rows.get("validation", 0) if recipe.validation is None else 0)


def predictions_of(results: ConditionResults, finished: FinishedGrid) -> Predictions:
    """The predictions of all methods and seeds in a condition, summed up."""
    grid, runs = finished.grid, finished.runs
    condition, seeds = results.condition, list(grid.seeds)
    stacked = {
        method: np.stack([runs[condition, method, seed].probabilities for seed in seeds]) for method in grid.recipes
    }
    key = (condition, results.baseline, seeds[0])
    gold, folder = runs[key].labels, finished.folders[key]
    kind, names = labels_of(gold), list(runs[key].names)
    distances = kind.disagreement(stacked[results.baseline], [stacked[method] for method in results.differences])
    distance, contested = distances.max(1), distances.argmax(1)
    by_distance = np.argsort(-distance, kind="stable")
    shown = list(islice((row for row in by_distance.tolist() if distance[row] > 0), TEXTS))
    test_rows = read_rows(folder, shown)
    texts = [
        DisputedText(
            each["row"], each["text"], each.get("text_pair"),
            kind.in_words(kind.right(gold[[row]], len(names))[0], names),
            {method: kind.chosen(values, row, names) for method, values in stacked.items()},
            names[contested[row]] if kind.several else None,
        )
        for row, each in zip(shown, test_rows, strict=True)
    ]  # fmt: skip
    return Predictions(
        results, names,
        {method: kind.reliability(values, gold) for method, values in stacked.items()},
        {} if kind.several else {method: ONE_LABEL.confusion(values, gold) for method, values in stacked.items()},
        int((distance > 0).sum()), texts,
    )  # fmt: skip
