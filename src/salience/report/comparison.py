"""A comparison in words and tables: means over seeds, differences with intervals, and a verdict on each method.

The terminal shows them here; `salience.report.comparison_page` makes a page and Markdown of the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from rich.console import Console

from salience.comparison.comparison import Comparison
from salience.comparison.paired_difference import PairedDifference
from salience.comparison.results import ConditionResults, OverDataSets
from salience.comparison.variation import spread
from salience.errors import counted
from salience.report.page import Cell, Table, in_terminal
from salience.report.terminal import literal
from salience.scores.labels import IN_PERCENT

FIRST = 4  # scores that fit into a terminal; the report has all
WIDEST = 3  # methods beside which a table of its own fits into a terminal
SCALED = {"calibration_error_scaled": "calibration error with temperature"}
LOWER_IS_BETTER = ("log_loss", "calibration_error", *SCALED)
UNITS = dict.fromkeys(IN_PERCENT, "%, ") | {"log_loss": "nats, "}
Column = tuple[Cell, dict[str, Cell]]  # the head, and the cell of each method


def show_comparison(comparison: Comparison, console: Console | None = None) -> None:
    """Prints the scores of each method, the differences to the baseline, and a verdict on each method."""
    console, title = console or Console(highlight=False), comparison.scoring.main_title
    for results in comparison.conditions:
        scores, differences, _, spent = columns_of(results)
        seeds = len(results.scores[results.baseline][results.scoring.main])
        console.print(in_terminal(
            f"{results.title + ': ' if results.title else ''}{results.rows} test rows, {title} in percent, mean ± "
            f"standard deviation over {seeds} seeds",
            table_of([*scores[:FIRST], *spent], results.scores),
        ))  # fmt: skip
        console.print(in_terminal(
            f"difference to {results.baseline} in points of {title}, with the 95 % interval over seeds and test rows",
            table_of(differences, [*results.differences, *results.references]),
        ))  # fmt: skip
        if 1 + len(results.differences) <= WIDEST:  # wider ones are in the report
            for what, table in measured_tables(results):
                console.print(in_terminal(what, table))
    for over in comparison.over_data_sets:
        what = f"difference to {comparison.baseline} in {title}, mean over the data sets"
        console.print(in_terminal(f"{over.title + ': ' if over.title else ''}{what}", over_table(over)))
    for line in verdicts(comparison):
        console.print(literal(line), soft_wrap=True)


def table_of(columns: Sequence[Column], methods: Sequence[str] | Mapping[str, object]) -> Table:
    """Columns as a table for the terminal, whose heads have no units."""
    heads = ["p (Holm)" if head.text == "p" else head.text.removeprefix("difference in ") for head, _ in columns]
    before = ["x " * (head.text == "time") for head, _ in columns]
    rows = [
        [method, *(f"{unit}{cells[method].text}" for unit, (_, cells) in zip(before, columns, strict=True))]
        for method in methods
    ]
    return Table(["", *heads], rows)


def board(results: ConditionResults) -> Table:
    """Scores, differences in the main score and some others, passes and times of all methods in a condition."""
    columns = [column for group in columns_of(results) for column in group]
    rows: list[list[str | Cell]] = [[method, *(cells[method] for _, cells in columns)] for method in results.scores]
    return Table(["method", *(head for head, _ in columns)], rows)


def columns_of(results: ConditionResults) -> tuple[list[Column], list[Column], list[Column], list[Column]]:
    """The columns of a condition: scores, differences, scores of some runs, and what was spent.

    Scores that no run has take no column.
    """
    scoring, methods = results.scoring, results.scores
    known = {score for scores in methods.values() for score in scores}

    def scored(score: str, name: str) -> Column:
        unit = f"{UNITS.get(score, '')}{'lower' if score in LOWER_IS_BETTER else 'higher'} is better"
        best = best_methods(results, score)
        return Cell(name, unit), {each: Cell(spread_of(results, each, score), best=each in best) for each in methods}

    def difference(method: str, score: str) -> Cell:
        if method in results.differences:
            return Cell(str(results.differences[method][score]))
        if method in results.references:  # without a claim, so without interval and p-value
            return Cell(f"{results.references[method][score]:+.2f}")
        return Cell("baseline" if score == scoring.main else "")

    def different(score: str) -> Column:
        unit = "points" if score in IN_PERCENT else "nats"
        head = Cell(f"difference in {scoring.compared[score]}", f"{unit} [95 % interval]")
        return head, {method: difference(method, score) for method in methods}

    def p(method: str) -> Cell:
        if method in results.differences:
            return Cell(p_value(results.differences[method][scoring.main]))
        return Cell("reference" if method in results.references else "")

    def passes(method: str) -> Cell:  # a mean over seeds; '-' for references, which have none
        values = methods[method].get("text_passes", [math.nan])
        return Cell(f"{sum(values) / len(values):,.0f}" if all(map(math.isfinite, values)) else "-")

    times = {method: Cell(f"{results.times(method):.2f}") for method in methods}
    spent = [(Cell("passes", "of texts"), {method: passes(method) for method in methods})]
    return (
        [scored(score, name) for score, name in scoring.compared.items()],
        [different(scoring.main), (Cell("p", "Holm"), {method: p(method) for method in methods}),
         *map(different, scoring.beside)],
        [scored(score, name) for score, name in SCALED.items() if score in known],
        [*(spent if "text_passes" in known else []), (Cell("time", "x baseline"), times)],
    )  # fmt: skip


def best_methods(results: ConditionResults, score: str) -> set[str]:
    """The methods with the best mean of a score; none if all are equal. Methods without the score do not count."""
    means = {
        method: float(np.mean(scores[score]))
        for method, scores in results.scores.items() if np.isfinite(scores.get(score, np.nan)).all()
    }  # fmt: skip
    best = (min if score in LOWER_IS_BETTER else max)(means.values(), default=0)
    found = {method for method, mean in means.items() if mean == best}
    return set() if len(found) == len(means) else found


def spread_of(results: ConditionResults, method: str, score: str) -> str:
    """Mean and standard deviation of a score that not all runs have; '-' if one has not."""
    values = results.scores[method].get(score, [math.nan])
    return spread(values) if all(map(math.isfinite, values)) else "-"


def measured_tables(results: ConditionResults) -> list[tuple[str, Table]]:
    """The tables of measures apart from the scores, with their titles; a row for each score.

    A row has the score of the baseline, and the differences of the other methods from it with their intervals; the
    scores of all methods where no difference can be computed.
    """
    methods = [results.baseline, *results.differences]

    def cell(method: str, score: str) -> str:
        found = results.differences.get(method, {}).get(score)
        return spread_of(results, method, score) if found is None else str(found)

    return [
        (title, Table(["score", "unit", *methods], [
            [column.title, column.direction, *(cell(method, score) for method in methods)]
            for score, column in results.measured.items() if column.table == title
        ], texts={1}))
        for title in dict.fromkeys(column.table for column in results.measured.values())
    ]  # fmt: skip


def over_table(over: OverDataSets) -> Table:
    """Differences in the main score over several data sets, a row for each method compared."""
    rows = [[method, str(here), p_value(here), str(over.elsewhere[method])] for method, here in over.here.items()]
    return Table(["method", "on these data sets", "p (Holm)", "on others like these"], rows)


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
        lines += [verdict(method, found, comparison.baseline, title) for method, found in over.here.items()]
    return lines


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
    needed, remedy = difference.needed, ""
    if needed is not None:
        remedy = f"; {needed.draws:.0f} seeds would show half a point"
        if math.isinf(needed.draws):
            rows = f"because the test rows alone give ±{needed.by_rows:.1f}"
            remedy = f"; no number of seeds would show half a point, {rows}"
    return f"{name}: no difference to {baseline} that this many runs can show: {interval}{remedy}"


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
