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

from salience.faithfulness.evaluation import Row
from salience.report.page import framed
from salience.report.pictures import COLOURS, GREY
from salience.report.terminal import literal, titled

FIRST = 13  # columns of a terminal for an explainer's name, so that all metrics fit into 80
MARKED = "whether the words are found that people have marked with the text's label, in percent"
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


def terminal_table(rows: Sequence[Row], about: str) -> Table:
    """Means, and half the width of their intervals, in 80 columns."""
    table = titled(about, box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
    table.add_column("explainer", no_wrap=True)
    for metric in rows[0].metrics:
        short = metric.replace(", probability", " prob.").replace("post-hoc@", "post-hoc @")
        table.add_column(literal(short), justify="right", min_width=8)
    for row in rows:
        cells = []
        for metric, (mean, low, high) in row.metrics.items():
            half = (high - low) / 2
            if metric == "tau":
                cell = f"{mean:.2f}±{half:.2f}".replace("±0.", "±.")
            else:
                cell = f"{mean:.1f}±{half:.{0 if half >= 9.95 else 1}f}"
            cells.append("-" if isnan(mean) else cell)
        table.add_row(Text("\n").join(map(literal, wrap(row.explainer, FIRST))), *cells)
    return table


def marked_table(rows: Sequence[Row], at: int) -> Table:
    """Whether the words are found that people have marked, by class."""
    table = titled(MARKED, box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
    for name in ("explainer", "class"):
        table.add_column(name)
    for name in marked_metrics(at):
        table.add_column(name, justify="right")
    for row in rows:
        for label, values in row.detected.items():
            table.add_row(literal(row.explainer), literal(label), *(f"{value:.1f}" for value in values))
    return table


def marked_metrics(at: int) -> list[str]:
    return [f"{name}@{count}" for count in (1, at) for name in ("P", "R", "F1")]


def write_faithfulness(rows: Sequence[Row], title: str, about: str, at: int, folder: Path) -> None:
    """Writes faithfulness.json and index.html."""
    kept = ("explainer", "metrics", "without", "alone")
    found = [{name: getattr(row, name) for name in kept} for row in rows]
    for own in found:  # JSON has no NaN
        own["metrics"] = {
            name: [None if isnan(value) else value for value in values] for name, values in own["metrics"].items()
        }
    for own, row in zip(found, rows, strict=True):
        if row.detected:
            own["marked"] = {
                label: dict(zip(marked_metrics(at), values, strict=True)) for label, values in row.detected.items()
            }
    (folder / "faithfulness.json").write_text(json.dumps({"about": about, "rows": found}, indent=1), encoding="utf-8")
    body = BODY.format(
        title=escape(title), about=escape(about), table=html_table(rows), marked=html_marked(rows, at),
        without=drawing(rows, "without"), alone=drawing(rows, "alone"),
    )  # fmt: skip
    (folder / "index.html").write_text(framed(title, STYLE, body), encoding="utf-8")


def html_table(rows: Sequence[Row]) -> str:
    body = []
    for row in rows:
        told = [
            "-" if isnan(mean) else f"{mean:.2f}<br><small>{low:.2f} to {high:.2f}</small>"
            for mean, low, high in row.metrics.values()
        ]
        body.append([escape(row.explainer), *told])
    return html(["explainer", *map(escape, rows[0].metrics)], body)


def html_marked(rows: Sequence[Row], at: int) -> str:
    body = [
        [escape(row.explainer), escape(label), *(f"{value:.1f}" for value in values)]
        for row in rows
        for label, values in row.detected.items()
    ]
    return f"<p>{MARKED}</p>{html(['explainer', 'class', *marked_metrics(at)], body)}" if body else ""


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
