"""The table of explainers by metrics: in a terminal, as JSON, and as a page with its curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from rich.table import Table as RichTable
from rich.text import Text

from salience.faithfulness.results import Estimate, Evaluation
from salience.report.page import Block, Cell, Figure, Grid, Section, Table, in_terminal, page_of
from salience.report.pictures import COLOURS, GREY, STYLES, Drawing, HoverTexts, Marks, name_lines
from salience.report.terminal import literal

FIRST = 13  # columns of a terminal for an explainer's name
EDGES = GAP = 2  # columns beside a table, and between two columns of it
DIGITS = {"probability": 3, "rank correlation": 2}  # after the decimal point; by default 1 in a terminal, 2 in a page
MARKED = "precision, recall and F1 of the words that people have marked with the text's label, in percent"
MANY = 40  # points of a line above which its markers are small

CURVES = {  # of a row: what is counted, and the caption
    "without": ("words removed", "Accuracy without the words with the highest scores: lower is better"),
    "alone": (
        "words kept",
        "Accuracy on the words with the highest scores alone (0: on the whole text): higher is better",
    ),
}


def terminal_tables(evaluation: Evaluation, about: str, width: int) -> list[RichTable]:
    """Means, and half the width of their intervals: as many tables as it takes to fit `width` columns.

    The last one is that of marked words, if there are any.
    """
    columns: dict[str, list[str]] = {}
    for name, metric in evaluation.metrics.items():
        estimates = [row.metrics[name] for row in evaluation.rows]
        columns[name] = [
            "-" if isnan(mean) else f"{mean:.{digits}f}±{(high - low) / 2:.{digits}f}"
            for digits in [DIGITS.get(metric.unit, 1)] for mean, low, high in estimates
        ]  # fmt: skip
    groups: list[list[str]] = []
    free = 0
    for name, metric in evaluation.metrics.items():
        needed = GAP + max(map(len, (name, metric.unit, metric.direction, *columns[name])))
        if not groups or needed > free:
            groups.append([])
            free = width - EDGES - FIRST
        groups[-1].append(name)
        free -= needed
    tables = []
    for names in groups:
        rows: list[list[str | Text]] = [
            [Text("\n").join(map(literal, wrap(row.explainer, FIRST))), *(columns[name][number] for name in names)]
            for number, row in enumerate(evaluation.rows)
        ]
        tables.append(in_terminal(about if names is groups[0] else "", Table(heads_of(evaluation, names), rows)))
    marked = marked_values(evaluation)
    return [*tables, in_terminal(MARKED, marked)] if marked.rows else tables


def heads_of(evaluation: Evaluation, names: Sequence[str]) -> list[str | Cell]:
    metrics = [(name, evaluation.metrics[name]) for name in names]
    return ["explainer", *(Cell(name, f"{metric.unit}\n{metric.direction}") for name, metric in metrics)]


def marked_values(evaluation: Evaluation) -> Table:
    """Precision, recall and F1 of the words that people have marked, by class; without rows if there are none."""
    rows = [(row.explainer, label, values) for row in evaluation.rows for label, values in row.marked.items()]
    names = list(rows[0][2]) if rows else []
    cells = [[explainer, label, *(f"{value:.1f}" for value in values.values())] for explainer, label, values in rows]
    return Table(["explainer", "class", *names], cells, texts={1})


def faithfulness_page(evaluation: Evaluation, title: str, about: str) -> str:
    """The page as HTML: a table of means with intervals, the marked words if there are any, and the curves.

    Args:
        title: a title as plain text.
        about: how the numbers were obtained, in one sentence.
    """

    def cell(estimate: Estimate, unit: str) -> Cell:
        (mean, low, high), digits = estimate, DIGITS.get(unit, 2)
        return Cell("-") if isnan(mean) else Cell(f"{mean:.{digits}f}", f"{low:.{digits}f} to {high:.{digits}f}")

    rows: list[list[str | Cell]] = [
        [row.explainer, *(cell(found, evaluation.metrics[name].unit) for name, found in row.metrics.items())]
        for row in evaluation.rows
    ]
    blocks: list[Block] = [Table(heads_of(evaluation, list(evaluation.metrics)), rows)]
    if (marked := marked_values(evaluation)).rows:
        blocks += [MARKED, marked]
    figures = []
    for kind, (counted, caption) in CURVES.items():
        curves: dict[str, Sequence[float]] = {row.explainer: getattr(row, kind).tolist() for row in evaluation.rows}
        if any(curves.values()):
            figures.append(Figure(caption, accuracy_curves(curves, counted), kind))
    if figures:
        blocks.append(Grid(figures))
    return page_of(title, about, [Section("metrics", "", blocks)], "faithfulness.css")


def accuracy_curves(curves: Mapping[str, Sequence[float]], counted: str) -> Drawing:
    """A line with markers for each explainer, whose accuracies in [0, 1] are those for 0, 1, 2, ... words."""

    def draw(axes: Axes) -> HoverTexts:
        texts: dict[Marks, list[str]] = {}
        for number, (name, shares) in enumerate(curves.items()):
            percentages = [100 * share for share in shares]
            (line,) = axes.plot(
                range(len(percentages)), percentages, STYLES[number // len(COLOURS) % len(STYLES)], marker="o",
                markersize=5 if len(percentages) <= MANY else 3, label=name, clip_on=False,
                color=GREY if name == "random" else COLOURS[number % len(COLOURS)],
            )  # fmt: skip
            texts[line] = [
                f"{name}: {words} {counted}, accuracy {percentage:.1f} %"
                for words, percentage in enumerate(percentages)
            ]
        values = [100 * share for shares in curves.values() for share in shares]
        margin = max(0.05 * (max(values) - min(values)), 1)
        axes.set_ylim(max(min(values) - margin, 0), min(max(values) + margin, 100))
        axes.set(xlabel=counted, ylabel="accuracy (%)")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        axes.grid(axis="y")
        name_lines(axes)
        return texts

    return Drawing(draw, (6, 4))


def faithfulness_json(evaluation: Evaluation, about: str) -> dict[str, object]:
    """The content of faithfulness.json: what is known of each metric; and means, intervals and curves by explainer.

    What is undefined is null, as JSON has no NaN.

    Args:
        about: how the numbers were obtained, in one sentence.
    """
    metrics = {
        name: {"unit": metric.unit, "higher_is_better": metric.higher_is_better, "reference": metric.reference}
        for name, metric in evaluation.metrics.items()
    }
    rows = [
        {
            "explainer": row.explainer,
            "metrics": {name: [None if isnan(value) else value for value in estimate]
                        for name, estimate in row.metrics.items()},
            "without": row.without.tolist(), "alone": row.alone.tolist(),
        } | ({"marked": row.marked} if row.marked else {})
        for row in evaluation.rows
    ]  # fmt: skip
    return {"about": about, "metrics": metrics, "rows": rows}
