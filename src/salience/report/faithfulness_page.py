"""The table of explainers by metrics: in a terminal, as JSON, and as a page with its curves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from math import isnan
from pathlib import Path
from textwrap import wrap

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from salience.faithfulness.results import Estimate, Evaluation, Row
from salience.report.page import framed
from salience.report.pictures import COLOURS, GREY
from salience.report.terminal import literal, titled

FIRST = 13  # columns of a terminal for an explainer's name
DIGITS = {"probability": 3, "rank correlation": 2}  # behind the point in a terminal; 1 for other units
MARKED = "precision, recall and F1 of the words that people have marked with the text's label, in percent"
WIDTH, HEIGHT, LEFT, BOTTOM = 460, 260, 44, 34  # of a drawing, in pixels

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
.table { overflow-x: auto } figure { max-width: 100% } svg { max-width: 100%; height: auto }
table { border-collapse: collapse }
td, th { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left } small { color: #666 }
figure { display: inline-block; margin: 1rem 1rem 0 0 } text { font: 12px system-ui, sans-serif }
"""

BODY = """<h1>{title}</h1><p>{about}</p>
{table}
{marked}
<figure><figcaption>accuracy without the K highest words: lower is better</figcaption>{without}</figure>
<figure><figcaption>accuracy on the K highest words alone (K = 0: on the whole text): higher is better</figcaption>
{alone}</figure>"""


def terminal_tables(evaluation: Evaluation, about: str, width: int) -> list[Table]:
    """Means, and half the width of their intervals: as many tables as it takes to fit `width` columns."""
    groups: list[list[str]] = []
    free = 0
    for name, metric in evaluation.metrics.items():
        needed = 1 + max(map(len, (name, metric.unit, metric.direction)))
        if not groups or needed > free:
            groups.append([])
            free = width - max(FIRST, len("explainer"))
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


def write_faithfulness(evaluation: Evaluation, title: str, about: str, folder: Path) -> None:
    """Writes faithfulness.json and index.html."""
    content = {"about": about, "metrics": metrics_as_json(evaluation), "rows": list(map(as_json, evaluation.rows))}
    (folder / "faithfulness.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    body = BODY.format(
        title=escape(title), about=escape(about), table=html_table(evaluation), marked=html_marked(evaluation),
        without=drawing(evaluation.rows, "without"), alone=drawing(evaluation.rows, "alone"),
    )  # fmt: skip
    (folder / "index.html").write_text(framed(title, STYLE, body), encoding="utf-8")


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


def html_table(evaluation: Evaluation) -> str:
    """Explainers by metrics: means, and intervals below them."""
    head = [
        f"{escape(name)}<br><small>{escape(metric.unit)},<br>{metric.direction}</small>"
        for name, metric in evaluation.metrics.items()
    ]
    body = []
    for row in evaluation.rows:
        cells = [
            "-" if isnan(mean) else f"{mean:.2f}<br><small>{low:.2f} to {high:.2f}</small>"
            for mean, low, high in row.metrics.values()
        ]
        body.append([escape(row.explainer), *cells])
    return html(["explainer", *head], body)


def html_marked(evaluation: Evaluation) -> str:
    """The marked words' table under its title; nothing where no word is marked."""
    body = [
        [escape(row.explainer), escape(label), *(f"{value:.1f}" for value in values.values())]
        for row in evaluation.rows
        for label, values in row.marked.items()
    ]
    return f"<p>{MARKED}</p>{html(['explainer', 'class', *marked_metrics(evaluation)], body)}" if body else ""


def html(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A table of cells that are html already."""
    lines = ["".join(f"<th>{cell}</th>" for cell in head)]
    lines += ["".join(f"<td>{cell}</td>" for cell in row) for row in body]
    rows = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="table"><table>{rows}</table></div>'


def drawing(rows: Sequence[Row], which: str) -> str:
    """The curves as an SVG, a line an explainer."""
    curves = {row.explainer: getattr(row, which) for row in rows}
    most = max(len(curve) for curve in curves.values()) - 1
    low = min(min(curve) for curve in curves.values())
    high = max(max(curve) for curve in curves.values())
    low = max(min(low, high - 0.01), 0)
    span = max(high - low, 0.01)
    digits = 0 if span >= 0.02 else 1
    names = round(6.4 * max(len(name) for name in curves)) + 14
    width = WIDTH - 110 + names

    def at(count: int, value: float) -> str:
        x = LEFT + (width - LEFT - names) * count / max(most, 1)
        return f"{x:.1f},{(HEIGHT - BOTTOM) - (HEIGHT - BOTTOM - 12) * (value - low) / span:.1f}"

    parts = [
        f'<svg viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" role="img" '
        f'aria-label="accuracy over K, a line for each of {escape(", ".join(curves))}">'
    ]
    for share in (0, 0.5, 1):
        x, y = at(0, low + share * span).split(",")
        parts.append(
            f'<text x="{float(x) - 6}" y="{y}" text-anchor="end">{100 * (low + share * span):.{digits}f}</text>'
        )
        parts.append(f'<line x1="{x}" x2="{width - names}" y1="{y}" y2="{y}" stroke="#ddd"/>')
    for count in sorted({0, most // 2, most}):
        x, _ = at(count, low).split(",")
        parts.append(f'<text x="{x}" y="{HEIGHT - 14}" text-anchor="middle">{count}</text>')
    for index, (name, curve) in enumerate(curves.items()):
        colour = GREY if name == "random" else COLOURS[index % len(COLOURS)]
        dash = f' stroke-dasharray="{4 * (index // len(COLOURS))} 3"' if index >= len(COLOURS) else ""
        points = " ".join(at(count, value) for count, value in enumerate(curve))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        parts.append(f'<text x="{width - names + 6}" y="{24 + 16 * index}" fill="{colour}">{escape(name)}</text>')
    return "".join([*parts, "</svg>"])
