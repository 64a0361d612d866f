"""The values of a comparison as texts, which its page and its Markdown share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from salience.comparison.evidence import Predictions
from salience.comparison.paired_difference import PairedDifference
from salience.comparison.provenance import SettingUsed
from salience.comparison.results import ConditionResults, OverDataSets
from salience.comparison.statistics import spread
from salience.errors import counted
from salience.report.comparison import known_spread, p_value, passes
from salience.training.confusion import confused_pairs
from salience.training.scoring import IN_PERCENT, Scoring

SCALED = {"calibration_error_scaled": "calibration error with temperature"}
LOWER_IS_BETTER = ("log_loss", "calibration_error", *SCALED)
LISTED_CLASSES = 20  # in Markdown
LISTED_PAIRS = 10  # of classes that are confused, for each method
UNITS = dict.fromkeys(IN_PERCENT, "%, ") | {"log_loss": "nats, "}


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Args:
        text: what it says.
        best: whether it is the best of its column.
    """

    text: str
    best: bool = False


@dataclass(frozen=True)
class Board:
    """The table of a condition: a row for each method.

    Attributes:
        head: names of the columns, and their units.
        rows: method to its cells.
    """

    head: list[tuple[str, str]]
    rows: dict[str, list[Cell]]


def board(results: ConditionResults) -> Board:
    """Scores, differences in the main score and some others, passes and times of all methods in a condition.

    Scores that no run has take no column.
    """
    scoring = results.scoring
    known = {score for scores in results.scores.values() for score in scores}
    partial = {score: name for score, name in SCALED.items() if score in known}
    beside = {score: column for score, column in results.measured.items() if not column.apart}
    spent = [("passes", "of texts")] if "text_passes" in known else []
    head = [
        *map(scored, scoring.compared.items()), difference_head(scoring, scoring.main), ("p", "Holm"),
        *(difference_head(scoring, score) for score in scoring.beside), *map(scored, partial.items()),
        *((column.title, column.direction) for column in beside.values()), *spent, ("time", "x baseline"),
    ]  # fmt: skip
    best = {score: best_methods(results, score) for score in (*scoring.compared, *partial, *beside)}
    rows = {}
    for method, scores in results.scores.items():
        cells = {score: Cell(known_spread(scores, score), method in best[score]) for score in best}
        rows[method] = [
            *(cells[score] for score in scoring.compared), *map(Cell, difference_cells(results, method)),
            *(cells[score] for score in (*partial, *beside)), *(Cell(passes(scores)) for _ in spent),
            Cell(f"{results.times(method):.2f}"),
        ]  # fmt: skip
    return Board(head, rows)


def difference_cells(results: ConditionResults, method: str) -> list[str]:
    """The difference of a method in the main score, its p-value, and the differences in the scores beside it."""
    scoring = results.scoring
    if method in results.differences:
        by_score = results.differences[method]
        main = by_score[scoring.main]
        return [str(main), p_value(main), *(str(by_score[score]) for score in scoring.beside)]
    if method in results.references:
        main_mean, *means = (f"{results.references[method][score]:+.2f}" for score in (scoring.main, *scoring.beside))
        return [main_mean, "reference", *means]
    return ["baseline", "", *("" for _ in scoring.beside)]


def measured_in_words(baseline: str) -> str:
    """What the tables of measures show."""
    return (
        f"Mean ± standard deviation over seeds of {baseline}; of the others the difference to it, with the 95 % "
        "interval over seeds."
    )


def scored(column: tuple[str, str]) -> tuple[str, str]:
    """The head of a column of scores: its title, and its unit with the direction that is better."""
    score, name = column
    return name, f"{UNITS.get(score, '')}{'lower' if score in LOWER_IS_BETTER else 'higher'} is better"


def difference_head(scoring: Scoring, score: str) -> tuple[str, str]:
    """The head of a column of differences."""
    unit = "points" if score in IN_PERCENT else "nats"
    return f"difference in {scoring.compared[score]}", f"{unit} [95 % interval]"


def best_methods(results: ConditionResults, score: str) -> set[str]:
    """The methods with the best mean of a score; none if all are equal. Methods without the score do not count."""
    means = {
        method: float(np.mean(scores[score]))
        for method, scores in results.scores.items() if np.isfinite(scores.get(score, np.nan)).all()
    }  # fmt: skip
    column = results.measured.get(score)
    lower = score in LOWER_IS_BETTER if column is None else not column.higher_is_better
    best = (min if lower else max)(means.values(), default=0)
    found = {method for method, mean in means.items() if mean == best}
    return set() if len(found) == len(means) else found


def over_rows(over: OverDataSets) -> dict[str, tuple[str, str, str]]:
    """Method to its difference on these data sets, the p-value of that, and the difference on others like these."""
    return {method: (str(here), p_value(here), str(over.elsewhere[method])) for method, here in over.here.items()}


def pairs_in_words(predictions: Predictions, method: str, most: int = LISTED_PAIRS) -> list[tuple[str, str, str, str]]:
    """The pairs of classes that a method confuses most: label, prediction, mean number of rows, share of the label.

    Args:
        predictions: of the condition.
        method: its name.
        most: number of pairs.
    """
    counts = predictions.confusions[method]
    return [
        (predictions.labels[pair.label], predictions.labels[pair.predicted], f"{pair.rows:.1f}",
         f"{100 * pair.rows / pair.of:.0f} %")
        for pair in confused_pairs(counts, most)
    ]  # fmt: skip


def setting_values(setting: SettingUsed) -> list[str]:
    """The values of a setting, each with its conditions if there are several."""
    if len(setting.values) == 1:
        return list(setting.values)
    return [f"{value} ({'; '.join(titles)})" for value, titles in setting.values.items()]


def disputed_in_words(predictions: Predictions, baseline: str) -> str:
    """On how many test rows methods disagree, and which are shown."""
    rows, shown = predictions.results.rows, len(predictions.texts)
    what = (
        "the labels that most of their seeds predict" if predictions.of_several
        else "the class that most of their seeds predict"
    )  # fmt: skip
    return (
        f"On {predictions.disputed:,} of {counted(rows, 'test row')}, {baseline} and another method differ in {what}. "
        + (f"Shown are the {shown} with the largest disagreement." if shown < predictions.disputed else "")
    ).strip()


def class_rows(results: ConditionResults) -> list[tuple[str, str, list[str]]]:
    """Each class with its number of test rows, and the mean F1 of each method, in percent; '-' without rows."""
    classes = results.classes
    by_method = [np.array(values) for values in classes.f1.values()]
    return [
        (name, f"{rows:,}", [spread(values[:, number]) if rows else "-" for values in by_method])
        for number, (name, rows) in enumerate(zip(classes.names, classes.rows, strict=True))
    ]


def times_in_words(results: ConditionResults, method: str, difference: PairedDifference) -> str:
    """A point of the picture of gain against cost: method, difference and time."""
    return f"{method}: {difference} points, {results.times(method):.2f} times the time of {results.baseline}"
