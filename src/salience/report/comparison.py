"""A comparison of methods in a terminal: means over seeds, differences with intervals, and a verdict in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
from rich.console import Console
from rich.table import Table

from salience.comparison.comparison import Comparison, SettingUsed
from salience.comparison.paired_difference import PairedDifference
from salience.comparison.results import ConditionResults, OverDataSets, SeedPredictions
from salience.comparison.variation import spread
from salience.errors import counted
from salience.report.terminal import literal, titled
from salience.scores.labels import IN_PERCENT, Labels
from salience.scores.metrics import confused_pairs

FIRST = 4  # scores that fit into a terminal; the report has all
WIDEST = 3  # methods beside which a table of its own fits into a terminal


def show_comparison(comparison: Comparison, console: Console | None = None) -> None:
    """Prints the scores of each method, the differences to the baseline, and a verdict on each method."""
    console = console or Console(highlight=False)
    for results in comparison.conditions:
        console.print(score_table(results))
        console.print(difference_table(results))
        if 1 + len(results.differences) <= WIDEST:  # wider ones are in the report
            for title, head, rows in measured_tables(results):
                console.print(measured_table(title, head, rows))
    for over in comparison.over_data_sets:
        console.print(over_table(over, comparison.baseline, comparison.scoring.main_title))
    for line in verdicts(comparison):
        console.print(literal(line), soft_wrap=True)


def score_table(results: ConditionResults) -> Table:
    """Mean and standard deviation over the seeds, a row for each method."""
    shown = dict(islice(results.scoring.compared.items(), FIRST))
    seeds = len(results.scores[results.baseline][results.scoring.main])
    title = f"{results.title}: " if results.title else ""
    what = f"{results.scoring.main_title} in percent, mean ± standard deviation over {seeds} seeds"
    table = titled(f"{title}{results.rows} test rows, {what}")
    table.add_column("", overflow="fold")
    for name in (*shown.values(), "passes", "time"):
        table.add_column(name, justify="right")
    for method, scores in results.scores.items():
        cells = (spread(scores[score]) for score in shown)
        table.add_row(literal(method), *cells, passes(scores), f"x {results.times(method):.2f}")
    return table


def measured_tables(results: ConditionResults) -> list[tuple[str, list[str], list[list[str]]]]:
    """The tables of measures apart from the scores: title, head, and a row for each score.

    A row has the score of the baseline, and the differences of the other methods from it with their intervals; the
    scores of all methods where no difference can be computed.
    """
    titles = dict.fromkeys(column.table for column in results.measured.values())
    methods = [results.baseline, *results.differences]
    tables = []
    for title in titles:
        columns = {score: column for score, column in results.measured.items() if column.table == title}
        rows = [
            [column.title, column.direction, *(measured_cell(results, method, score) for method in methods)]
            for score, column in columns.items()
        ]  # fmt: skip
        tables.append((title, ["score", "unit", *methods], rows))
    return tables


def measured_cell(results: ConditionResults, method: str, score: str) -> str:
    """The difference of a method from the baseline; the mean and standard deviation where there is none."""
    found = results.differences.get(method, {}).get(score)
    return known_spread(results.scores[method], score) if found is None else str(found)


def measured_table(title: str, head: list[str], rows: list[list[str]]) -> Table:
    """A table of a measure in the terminal."""
    table = titled(title)
    for number, name in enumerate(head):
        table.add_column(literal(name), justify="left" if number < 2 else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(literal, row))
    return table


def known_spread(scores: Mapping[str, list[float]], score: str) -> str:
    """Mean and standard deviation of a score that not all runs have; '-' if one has not."""
    values = scores.get(score, [math.nan])
    return spread(values) if all(map(math.isfinite, values)) else "-"


def passes(scores: Mapping[str, list[float]]) -> str:
    """The passes of texts through the model, a mean over seeds: '960'; '-' for references, which have none."""
    values = scores.get("text_passes", [math.nan])
    return f"{sum(values) / len(values):,.0f}" if all(map(math.isfinite, values)) else "-"


def difference_table(results: ConditionResults) -> Table:
    """Differences to the baseline with their 95 % intervals, a row for each other method, then the references."""
    scoring = results.scoring
    what = f"difference to {results.baseline} in points of {scoring.main_title}, with the 95 % interval"
    table = titled(f"{what} over seeds and test rows")
    table.add_column("", overflow="fold")
    for name in (scoring.main_title, "p (Holm)", *(scoring.compared[score] for score in scoring.beside)):
        table.add_column(name, justify="right")
    for method, by_score in results.differences.items():
        main = by_score[scoring.main]
        table.add_row(literal(method), str(main), p_value(main), *(str(by_score[each]) for each in scoring.beside))
    for name, by_reference in results.references.items():  # without a claim, so without interval and p-value
        main_cell, *others = (f"{by_reference[each]:+.2f}" for each in (scoring.main, *scoring.beside))
        table.add_row(literal(name), main_cell, "-", *others)
    return table


def over_table(over: OverDataSets, baseline: str, score: str) -> Table:
    """Differences in the main score, titled `score`, over several data sets, a row for each method compared."""
    title = f"{over.title}: " if over.title else ""
    table = titled(f"{title}difference to {baseline} in {score}, mean over the data sets")
    table.add_column("", overflow="fold")
    for name in ("on these data sets", "p (Holm)", "on others like these"):
        table.add_column(name, justify="right")
    for method, here in over.here.items():
        table.add_row(literal(method), str(here), p_value(here), str(over.elsewhere[method]))
    return table


def p_value(difference: PairedDifference) -> str:
    """The adjusted p-value: '0.031', or '< 0.001'."""
    return "< 0.001" if difference.adjusted_p < 0.001 else f"{difference.adjusted_p:.3f}"


def verdicts(comparison: Comparison) -> list[str]:
    """A line for every method but the baseline and every condition, and over the data sets if there are several."""
    lines = [
        verdict(method, by_score[results.scoring.main], results.baseline, results.title, results.times(method))
        for results in comparison.conditions for method, by_score in results.differences.items()
    ]  # fmt: skip
    for over in comparison.over_data_sets:
        title = f"{over.title}, over all data sets" if over.title else "over all data sets"
        lines += of_group(over.here, comparison.baseline, title)
    return lines


def of_group(differences: Mapping[str, PairedDifference], baseline: str, title: str) -> list[str]:
    """The verdicts of several methods, without their time."""
    return [verdict(method, difference, baseline, title) for method, difference in differences.items()]


def verdict(
    method: str, difference: PairedDifference, baseline: str, title: str = "", times: float | None = None
) -> str:
    """One line on whether the main score differs from the baseline's by more than seeds and test rows explain.

    Args:
        difference: in the main score, in points.
        title: the condition; may be empty.
        times: the time of the method as a multiple of the baseline's; None leaves it out.
    """
    name = f"{title}, {method}" if title else method
    if difference.low is None or difference.high is None:
        return f"{name}: the same difference to {baseline} with every seed, so no interval can be computed"
    interval = f"{difference.mean:+.1f} points [{difference.low:+.1f}, {difference.high:+.1f}]"
    if difference.beyond_chance:
        better = "better" if difference.mean > 0 else "worse"
        cost = "" if times is None else f", at {times:.2g} times its time"
        return f"{name}: {better} than {baseline} beyond chance: {interval}{cost}"
    return f"{name}: no difference to {baseline} that this many runs can show: {interval}{remedy(difference)}"


def remedy(difference: PairedDifference) -> str:
    """How many seeds would show a difference of half a point."""
    needed = difference.needed
    if needed is None:
        return ""
    if math.isinf(needed.draws):
        return f"; no number of seeds would show half a point, because the test rows alone give ±{needed.by_rows:.1f}"
    return f"; {needed.draws:.0f} seeds would show half a point"


# What a comparison consists of and how its numbers were computed, in sentences for its page and its Markdown.


def statistics_in_words(comparison: Comparison) -> str:
    """How the numbers of the report were computed, and what the seeds vary."""
    drawn, seeds = comparison.drawn, comparison.seeds
    family = sum(len(results.differences) for results in comparison.conditions)
    together = (
        f"; over the {family} differences of a score, the intervals hold together at 95 % (Bonferroni) and the "
        "p-values of sign flips are adjusted by Holm"
        if family > 1
        else "; the p-values are those of sign flips"
    )
    if all(drawn):
        rows, limit = "each of which draws other rows", ""
    else:
        rows = "each of which draws other rows where not all train" if any(drawn) else "all on the same training rows"
        limit = (
            " Where all rows train, seeds differ in initial weights, batches and mixing: the intervals do not cover "
            "other training rows."
        )
    return (
        f"Means ± standard deviations over the {len(seeds)} seeds {', '.join(map(str, seeds))}, {rows}; "
        f"differences to {comparison.baseline} are paired by seed and test row, with 95 % intervals over seeds and "
        f"test rows{together}.{limit}"
    )


def grid_in_words(comparison: Comparison) -> str:
    """How many runs there are, of what."""
    references = len(comparison.conditions[0].references)
    parts = [counted(len(comparison.methods) - references, "method")]
    parts += [counted(references, "reference")] if references else []
    parts.append(counted(len(comparison.seeds), "seed"))
    if len(comparison.conditions) > 1:
        parts.append(counted(len(comparison.conditions), "condition"))
    return f"{counted(comparison.provenance.runs, 'run')}: {', '.join(parts)}"


# The values of a comparison as texts, which its page and its Markdown share.

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
    spent = [("passes", "of texts")] if "text_passes" in known else []
    head = [
        *map(scored, scoring.compared.items()), difference_head(scoring, scoring.main), ("p", "Holm"),
        *(difference_head(scoring, score) for score in scoring.beside), *map(scored, partial.items()),
        *spent, ("time", "x baseline"),
    ]  # fmt: skip
    best = {score: best_methods(results, score) for score in (*scoring.compared, *partial)}
    rows = {}
    for method, scores in results.scores.items():
        cells = {score: Cell(known_spread(scores, score), method in best[score]) for score in best}
        rows[method] = [
            *(cells[score] for score in scoring.compared), *map(Cell, difference_cells(results, method)),
            *(cells[score] for score in partial), *(Cell(passes(scores)) for _ in spent),
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


def difference_head(scoring: Labels, score: str) -> tuple[str, str]:
    """The head of a column of differences."""
    unit = "points" if score in IN_PERCENT else "nats"
    return f"difference in {scoring.compared[score]}", f"{unit} [95 % interval]"


def best_methods(results: ConditionResults, score: str) -> set[str]:
    """The methods with the best mean of a score; none if all are equal. Methods without the score do not count."""
    means = {
        method: float(np.mean(scores[score]))
        for method, scores in results.scores.items() if np.isfinite(scores.get(score, np.nan)).all()
    }  # fmt: skip
    best = (min if score in LOWER_IS_BETTER else max)(means.values(), default=0)
    found = {method for method, mean in means.items() if mean == best}
    return set() if len(found) == len(means) else found


def over_rows(over: OverDataSets) -> dict[str, tuple[str, str, str]]:
    """Method to its difference on these data sets, the p-value of that, and the difference on others like these."""
    return {method: (str(here), p_value(here), str(over.elsewhere[method])) for method, here in over.here.items()}


def pairs_in_words(
    predictions: SeedPredictions, method: str, most: int = LISTED_PAIRS
) -> list[tuple[str, str, str, str]]:
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


def disputed_in_words(predictions: SeedPredictions, baseline: str) -> str:
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
