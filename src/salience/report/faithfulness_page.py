"""The table of explainers by metrics: in a terminal, as JSON, and as a page with its curves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isnan
from textwrap import wrap

from rich.box import SIMPLE_HEAD
from rich.table import Table as RichTable
from rich.text import Text

from salience.faithfulness.results import Estimate, Evaluation
from salience.report.page import Block, Cell, Figure, Grid, Section, Table, in_terminal, page_of
from salience.report.pictures import Drawing, draw_curves
from salience.report.terminal import literal

FIRST = 13  # columns of a terminal for an explainer's name
EDGES = GAP = 2  # columns beside a table, and between two columns of it
DIGITS = {"probability": 3, "rank correlation": 2}  # after the decimal point; by default 1 in a terminal, 2 in a page
MARKED = "precision, recall and F1 of the words that people have marked with the text's label, in percent"
SIZE = (7.5, 4.2)  # of a picture of curves, in inches
LOOK = {"box": SIMPLE_HEAD, "padding": (0, 0, 0, 1), "pad_edge": False}  # of tables in a terminal
CURVES = {  # of a row: what is counted, and the caption
    "without": ("words removed", "Accuracy without the words with the highest scores: lower is better"),
    "alone": (
        "words kept",
        "Accuracy on the words with the highest scores alone (0: on the whole text): higher is better",
    ),
}


def terminal_tables(evaluation: Evaluation, about: str, width: int) -> list[RichTable]:
    """Means, and half the width of their intervals: as many tables as it takes to fit `width` columns."""
    groups: list[list[str]] = []
    free = 0
    for name, metric in evaluation.metrics.items():
        cells = (mean_and_half_width(row.metrics[name], metric.unit) for row in evaluation.rows)
        needed = GAP + max(map(len, (name, metric.unit, metric.direction, *cells)))
        if not groups or needed > free:
            groups.append([])
            free = width - EDGES - FIRST
        groups[-1].append(name)
        free -= needed
    tables = []
    for names in groups:
        metrics = {name: evaluation.metrics[name] for name in names}
        heads = [Cell(name, f"{metric.unit}\n{metric.direction}") for name, metric in metrics.items()]
        rows: list[list[str | Cell | Text]] = [
            [Text("\n").join(map(literal, wrap(row.explainer, FIRST))),
             *(mean_and_half_width(row.metrics[name], metric.unit) for name, metric in metrics.items())]
            for row in evaluation.rows
        ]  # fmt: skip
        tables.append(in_terminal(about if names is groups[0] else "", Table(["explainer", *heads], rows), **LOOK))
    return tables


def mean_and_half_width(estimate: Estimate, unit: str) -> str:
    if isnan(estimate.mean):
        return "-"
    digits = DIGITS.get(unit, 1)
    return f"{estimate.mean:.{digits}f}±{(estimate.high - estimate.low) / 2:.{digits}f}"


def marked_values(evaluation: Evaluation) -> Table:
    """Precision, recall and F1 of the words that people have marked, by class; without rows if there are none."""
    rows = [(row.explainer, label, values) for row in evaluation.rows for label, values in row.marked.items()]
    names = list(rows[0][2]) if rows else []
    cells = [[explainer, label, *(f"{value:.1f}" for value in values.values())] for explainer, label, values in rows]
    return Table(["explainer", "class", *names], cells, texts={1})


def marked_table(evaluation: Evaluation) -> RichTable:
    """`marked_values` in a terminal."""
    return in_terminal(MARKED, marked_values(evaluation), **LOOK)


def faithfulness_page(evaluation: Evaluation, title: str, about: str) -> str:
    """The page as HTML: a table of means with intervals, the marked words if there are any, and the curves.

    Args:
        title: a title as plain text.
        about: how the numbers were obtained, in one sentence.
    """

    def cell(estimate: Estimate, unit: str) -> Cell:
        (mean, low, high), digits = estimate, DIGITS.get(unit, 2)
        return Cell("-") if isnan(mean) else Cell(f"{mean:.{digits}f}", f"{low:.{digits}f} to {high:.{digits}f}")

    heads = [Cell(name, f"{metric.unit}\n{metric.direction}") for name, metric in evaluation.metrics.items()]
    rows: list[list[str | Cell]] = [
        [row.explainer, *(cell(found, evaluation.metrics[name].unit) for name, found in row.metrics.items())]
        for row in evaluation.rows
    ]
    blocks: list[Block] = [Table(["explainer", *heads], rows)]
    if (marked := marked_values(evaluation)).rows:
        blocks += [MARKED, marked]
    figures = []
    for kind, (counted, caption) in CURVES.items():
        curves: dict[str, Sequence[float]] = {row.explainer: getattr(row, kind).tolist() for row in evaluation.rows}
        if any(curves.values()):
            draw = partial(draw_curves, curves=curves, x_label=counted, y_label="accuracy")
            figures.append(Figure(caption, Drawing(draw, SIZE), name=kind))
    if figures:
        blocks.append(Grid(figures))
    return page_of(title, about, [Section("metrics", "", blocks)], "faithfulness.css")


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
