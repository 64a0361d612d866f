"""The table of explainers by metrics: in a terminal, as JSON, and as a page with its curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isnan
from textwrap import wrap

from matplotlib.axes import Axes
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from salience.faithfulness.results import Estimate, Evaluation, Row
from salience.report.page import PACKAGE, asset, framed
from salience.report.pictures import HoverTexts, Styles, draw_curves, inline, picture
from salience.report.terminal import literal, titled
from salience.templating import render

FIRST = 13  # columns of a terminal for an explainer's name
EDGES = GAP = 2  # columns beside a table, and between two columns of it
DIGITS = {"probability": 3, "rank correlation": 2}  # after the decimal point; by default 1 in a terminal, 2 in a page
MARKED = "precision, recall and F1 of the words that people have marked with the text's label, in percent"
SIZE = (7.5, 4.2)  # of a picture of curves, in inches


def terminal_tables(evaluation: Evaluation, about: str, width: int) -> list[Table]:
    """Means, and half the width of their intervals: as many tables as it takes to fit `width` columns."""
    groups: list[list[str]] = []
    free = 0
    for name, metric in evaluation.metrics.items():
        cells = (_mean_and_half_width(row.metrics[name], metric.unit) for row in evaluation.rows)
        needed = GAP + max(map(len, (name, metric.unit, metric.direction, *cells)))
        if not groups or needed > free:
            groups.append([])
            free = width - EDGES - FIRST
        groups[-1].append(name)
        free -= needed
    return [_terminal_table(evaluation, names, about if names is groups[0] else "") for names in groups]


def _terminal_table(evaluation: Evaluation, names: Sequence[str], about: str) -> Table:
    table = titled(about, box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
    table.add_column("explainer", no_wrap=True)
    for name in names:
        metric = evaluation.metrics[name]
        head = Text("\n").join(map(literal, (name, metric.unit, metric.direction)))
        table.add_column(head, justify="right", no_wrap=True)
    for row in evaluation.rows:
        cells = [_mean_and_half_width(row.metrics[name], evaluation.metrics[name].unit) for name in names]
        table.add_row(Text("\n").join(map(literal, wrap(row.explainer, FIRST))), *cells)
    return table


def _mean_and_half_width(estimate: Estimate, unit: str) -> str:
    if isnan(estimate.mean):
        return "-"
    digits = DIGITS.get(unit, 1)
    return f"{estimate.mean:.{digits}f}±{(estimate.high - estimate.low) / 2:.{digits}f}"


def marked_table(evaluation: Evaluation) -> Table:
    """Precision, recall and F1 of the words that people have marked, by class."""
    table = titled(MARKED, box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
    for name in ("explainer", "class"):
        table.add_column(name)
    for name in marked_metrics(evaluation):
        table.add_column(name, justify="right")
    for row in evaluation.rows:
        for label, values in row.marked.items():
            table.add_row(literal(row.explainer), literal(label), *(f"{value:.1f}" for value in values.values()))
    return table


def marked_metrics(evaluation: Evaluation) -> list[str]:
    """The names of the values of marked words, such as "P@1"."""
    return next((list(values) for row in evaluation.rows for values in row.marked.values()), [])


def faithfulness_json(evaluation: Evaluation, about: str) -> dict[str, object]:
    """The content of faithfulness.json.

    Args:
        about: how the numbers were obtained, in one sentence.
    """
    return {"about": about, "metrics": metrics_as_json(evaluation), "rows": list(map(as_json, evaluation.rows))}


def faithfulness_page(evaluation: Evaluation, title: str, about: str) -> str:
    """The page as HTML: a table of means with intervals, the marked words if there are any, and the curves.

    Args:
        title: a title as plain text.
        about: how the numbers were obtained, in one sentence.
    """
    styles = Styles()
    curves = {
        name: (caption, inline(picture(draw, name, SIZE), styles, caption))
        for name, (caption, draw) in curves_of(evaluation.rows).items()
    }
    body = render(
        PACKAGE, "faithfulness.html.jinja",
        title=title, about=about, metrics=evaluation.metrics, curves=curves, marked_title=MARKED,
        rows={row.explainer: cells(row, evaluation) for row in evaluation.rows},
        marked_metrics=marked_metrics(evaluation),
        marked=[
            (row.explainer, label, [f"{value:.1f}" for value in values.values()])
            for row in evaluation.rows
            for label, values in row.marked.items()
        ],
    )  # fmt: skip
    return framed(title, asset("faithfulness.css") + styles.sheet(), body)


def cells(row: Row, evaluation: Evaluation) -> list[tuple[str, str]]:
    """Mean and interval of each metric as texts; a mean that is undefined is "-", without an interval."""
    texts = []
    for name, (mean, low, high) in row.metrics.items():
        digits = DIGITS.get(evaluation.metrics[name].unit, 2)
        interval = f"{low:.{digits}f} to {high:.{digits}f}"
        texts.append(("-", "") if isnan(mean) else (f"{mean:.{digits}f}", interval))
    return texts


def curves_of(rows: Sequence[Row]) -> dict[str, tuple[str, Callable[[Axes], HoverTexts]]]:
    """By name, the caption of the curves and what draws them; empty if the evaluation has no curves."""
    kinds = {
        "without": ("words removed", "Accuracy without the words with the highest scores: lower is better"),
        "alone": (
            "words kept",
            "Accuracy on the words with the highest scores alone (0: on the whole text): higher is better",
        ),
    }
    curves = {kind: {row.explainer: getattr(row, kind).tolist() for row in rows} for kind in kinds}
    return {
        kind: (caption, partial(draw_curves, curves=curves[kind], x_label=x_label, y_label="accuracy"))
        for kind, (x_label, caption) in kinds.items()
        if any(curves[kind].values())
    }


def metrics_as_json(evaluation: Evaluation) -> dict[str, dict[str, object]]:
    """What the catalogue says of each metric: its unit, its direction and its source."""
    return {
        name: {"unit": metric.unit, "higher_is_better": metric.higher_is_better, "reference": metric.reference}
        for name, metric in evaluation.metrics.items()
    }


def as_json(row: Row) -> dict[str, object]:
    """An explainer's means, intervals and curves; null for what is undefined, as JSON has no NaN."""
    content: dict[str, object] = {
        "explainer": row.explainer,
        "metrics": {
            name: [None if isnan(value) else value for value in estimate] for name, estimate in row.metrics.items()
        },
        "without": row.without.tolist(), "alone": row.alone.tolist(),
    }  # fmt: skip
    return content | ({"marked": row.marked} if row.marked else {})
