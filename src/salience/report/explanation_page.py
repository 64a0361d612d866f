"""Explanations as one self-contained page: heat maps, a switch between explainers, search and order.

Texts are data, never markup: they are written as JSON that cannot end its element, and shown as text nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from math import isfinite
from pathlib import Path

from salience.explainers.explanations import Explanation
from salience.files import whole_file
from salience.report.page import framed

STYLE = """
body { font: 16px/1.6 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem; color: #222; background: #fff; overflow-wrap: anywhere }
header { position: sticky; top: 0; background: #fff; padding: .5rem 0; border-bottom: 1px solid #ccc }
header label { margin-right: 1rem; display: inline-block; white-space: nowrap }
header select { max-width: 15rem } #search { width: 9rem } #count { white-space: nowrap; display: inline-block }
article { border-bottom: 1px solid #e4e4e4; padding: .6rem 0 }
.verdict { font-size: .85rem; color: #555 } .wrong { color: #b00020; font-weight: 600 }
.row { color: #777 } .bars { margin-left: .8rem } .bars span { margin-right: .7rem; white-space: nowrap; display: inline-block }
.word { border-radius: .2rem; padding: 0 .1rem } .scored .word { display: inline-block }
.scored .word::after { content: attr(title); font-size: .65rem; color: #444; margin-left: .15rem; vertical-align: super }
.second { border-left: 2px solid #888; padding-left: .5rem; margin-left: .3rem }
footer { color: #666; font-size: .85rem; padding: 1rem 0 }
"""  # noqa: E501

BODY = """<h1>__TITLE__</h1>
<header>
<label>explainer <select id="explainer"></select></label>
<label>search <input id="search" type="search" autocomplete="off"></label>
<label>order <select id="order">
<option value="file">as in the file</option>
<option value="unsure">least confident first</option>
<option value="sure">most confident first</option>
<option value="wrong">confident errors first</option>
</select></label>
<label><input id="scored" type="checkbox" autocomplete="off"> scores</label>
<span id="count" role="status"></span>
</header>
<main id="texts"></main>
<footer>Red words speak for the class that is explained, blue ones against it; scores that know no sign are red only.
The colour is relative to the strongest word of a text. Point at a word for its score, or tick "scores" for all.</footer>
<script id="data" type="application/json">__DATA__</script>"""  # noqa: E501

SCRIPT = """
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("texts"), count = document.getElementById("count");
const explainer = document.getElementById("explainer"), search = document.getElementById("search");
const order = document.getElementById("order"), STEP = 50;
let chosen = [], shown = 0;

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}
for (const name of data.explainers) explainer.append(element("option", name));

function confidence(row) { return row.probabilities[row.predicted]; }
function predicted(row) { return row.predicted; }
function rounded(value) { return value === null ? "unknown" : value.toFixed(2); }
function isWrong(row) { return row.gold !== null && row.gold !== predicted(row); }

function colour(strength) {
  const hue = strength > 0 ? "217,71,58" : "58,110,217";
  return `rgba(${hue},${(Math.min(Math.abs(strength), 1) * 0.75).toFixed(2)})`;
}

function article(row) {
  const made = element("article"), own = predicted(row), verdict = element("div", undefined, "verdict");
  verdict.append(element("b", data.labels[own]), ` ${rounded(confidence(row))}`);
  if (isWrong(row)) verdict.append(" ", element("span", `wrong: it is ${data.labels[row.gold]}`, "wrong"));
  else if (row.gold !== null) verdict.append(" right");
  if (row.target !== own) verdict.append(`, explained: ${data.labels[row.target]}`);
  const bars = element("span", undefined, "bars");
  row.probabilities.forEach((value, index) => {
    if (index !== own && value >= 0.01) bars.append(element("span", `${data.labels[index]} ${value.toFixed(2)}`));
  });
  verdict.append(bars);
  if (row.row !== null) verdict.append(element("span", `row ${row.row}`, "row"));
  const text = element("div", undefined, "text"), scores = row.scores[explainer.selectedIndex];
  const largest = Math.max(1e-12, ...scores.map(Math.abs));
  row.words.forEach((word, index) => {
    const part = element("span", word, index === row.second ? "word second" : "word");
    part.style.background = colour(scores[index] / largest);
    part.title = scores[index] === null ? "unknown" : scores[index].toPrecision(3);
    text.append(part, " ");
  });
  if (row.cut) text.append(element("span", "(the rest was not read)", "row"));
  text.dir = "auto";
  made.append(verdict, text);
  return made;
}

function more() {
  const next = chosen.slice(shown, shown + STEP);
  main.append(...next.map(article));
  shown += next.length;
}

function fill() {
  while (shown < chosen.length && innerHeight + scrollY > document.body.scrollHeight - 800) more();
}

function show(change) {
  const kept = change && change.target === explainer ? shown : 0;
  const wanted = search.value.trim().toLowerCase();
  chosen = data.rows.filter(row => !wanted || row.words.join(" ").toLowerCase().includes(wanted)
    || data.labels[predicted(row)].toLowerCase() === wanted);
  if (order.value === "unsure") chosen.sort((a, b) => confidence(a) - confidence(b));
  if (order.value === "sure") chosen.sort((a, b) => confidence(b) - confidence(a));
  if (order.value === "wrong") chosen.sort((a, b) => isWrong(b) - isWrong(a) || confidence(b) - confidence(a));
  main.replaceChildren();
  shown = 0;
  do more(); while (shown < kept);
  if (!kept) scrollTo(0, 0);
  fill();
  count.textContent = `${chosen.length} of ${data.rows.length} texts`;
}

for (const control of [explainer, order]) control.addEventListener("change", show);
search.addEventListener("input", show);
document.getElementById("scored").addEventListener("change", box => main.classList.toggle("scored", box.target.checked));
for (const event of ["scroll", "resize"]) addEventListener(event, fill, { passive: true });
show();
"""  # noqa: E501


def write_explanations(explanations: Iterable[Explanation], title: str, file: Path) -> None:
    """Writes the page."""
    rows, labels, names = [], [], []
    for own in explanations:
        labels, names = own.labels, list(own.scores)
        rows.append({
            "row": own.row, "words": own.words, "second": own.second, "cut": own.cut, "gold": own.gold,
            "target": own.target, "predicted": own.predicted,
            "probabilities": [known(round(float(value), 4)) for value in own.probabilities],
            "scores": [[known(float(f"{value:.3g}")) for value in scores] for scores in own.scores.values()],
        })  # fmt: skip
    data = json.dumps({"labels": labels, "explainers": names, "rows": rows}, ensure_ascii=False, allow_nan=False)
    # In a script element only "<" can begin something else; in JSON it has another spelling.
    before, after = BODY.split("__DATA__")
    body = before.replace("__TITLE__", escape(title)) + data.replace("<", "\\u003c") + after
    with whole_file(file) as unfinished:
        unfinished.write_text(framed(title, STYLE, body, SCRIPT), encoding="utf-8")


def known(value: float) -> float | None:
    """None for what JSON has no number for, of a model that has diverged."""
    return value if isfinite(value) else None
