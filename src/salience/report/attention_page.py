"""An analysis of attention as a table of words, a summary, and one self-contained page."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from salience.analysis.association import category_names
from salience.analysis.token_scores import polarity_of
from salience.comparison.attention import Analysis
from salience.report.inline_svg import Styles, inline
from salience.report.page import framed

TOP = 15  # words of a category in the page

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
figure { display: inline-block; width: 47%; margin: 0 1% 1rem 0; vertical-align: top } figure svg { width: 100%; height: auto }
table { border-collapse: collapse; margin: 1rem 0 } td, th { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left } .words { text-align: left }
@media (max-width: 50rem) { figure { width: 100% } }
.table { overflow-x: auto }
"""  # noqa: E501

BODY = """<h1>{{ title }}</h1>
<p>A word belongs to a class if more than 3/4 of its occurrences, and more than 5, are in that class's texts; it is neutral
if its shares differ by less than 0.1 and its counts by less than 5. Scores are means over its occurrences.
{% if labels | length == 2 %}Polarity and gamma above 0 speak for {{ labels[1] }}, below 0 for {{ labels[0] }}.{% else %}Polarity
is that for the word's own class, and for neutral words the mean over classes.{% endif %}</p>
<div class="table"><table>
<tr>{% for name in summary[0] %}<th>{{ name }}</th>{% endfor %}</tr>
{% for row in summary %}<tr>{% for value in row.values() %}<td>{{ value }}</td>{% endfor %}</tr>
{% endfor %}</table></div>
{% for name, picture in pictures.items() %}<figure id="{{ name }}">{{ picture | safe }}</figure>
{% endfor %}
<h2>The words that are attended to most</h2>
<table>
<tr><th>category</th><th class="words">words, by attention score</th></tr>
{% for name, words in top.items() %}<tr><td>{{ name }}</td><td class="words">{{ words | join(", ") }}</td></tr>
{% endfor %}</table>"""  # noqa: E501


def write_page(
    analyses: Sequence[Analysis], labels: Sequence[str], shown: int, pictures: Sequence[str], title: str, folder: Path
) -> None:
    """Writes words.csv, summary.json and index.html; texts are escaped, and the page needs nothing but itself."""
    from jinja2 import Environment

    summary = [row for own in analyses for row in summarise(own, labels)]
    (folder / "summary.json").write_text(
        json.dumps(
            {"categories": summary, "trajectories": {f"{a.scale:g}": a.trajectory for a in analyses}}, indent=1
        ),
        encoding="utf-8",
    )
    write_words(analyses[shown], labels, folder / "words.csv")
    styles = Styles()
    drawn = {name: inline((folder / f"{name}.svg").read_text(encoding="utf-8"), styles) for name in pictures}
    body = Environment(autoescape=True).from_string(BODY).render(
        title=title, labels=labels, summary=[rounded(row) for row in summary], pictures=drawn,
        top=top_words(analyses[shown], labels),
    )  # fmt: skip
    (folder / "index.html").write_text(framed(title, STYLE + styles.sheet(), body), encoding="utf-8")


def summarise(analysis: Analysis, labels: Sequence[str]) -> list[dict]:
    """A row a category: how many words, and their mean scores."""
    rows = []
    for category, name in category_names(labels).items():
        own = analysis.words.category == category
        seen = own & (analysis.in_texts.occurrences.numpy() > 0)
        if seen.any():
            rows.append({
                "scale": analysis.scale, "category": name, "words": int(seen.sum()),
                "attention score": float(analysis.in_texts.attention.numpy()[seen].mean()),
                "polarity score": float(polarity_of(analysis.in_texts.polarity.numpy()[seen], category).mean()),
                "attention weight": float(analysis.in_texts.weight.numpy()[seen].mean()),
                "|V^T W|": analysis.alignment, "test accuracy": analysis.test_accuracy,
            })  # fmt: skip
    return rows


def rounded(row: dict) -> dict:
    return {
        key: f"{value:.3g}" if isinstance(value, float) else "-" if value is None else value
        for key, value in row.items()
    }


def write_words(analysis: Analysis, labels: Sequence[str], file: Path) -> None:
    """Every word of the training texts, the most frequent first."""
    total = analysis.words.counts.sum(1)
    with file.open("w", encoding="utf-8", errors="backslashreplace", newline="") as opened:
        writer = None
        for row in np.argsort(-total, kind="stable")[: np.count_nonzero(total)]:
            found = word_row(analysis, labels, row)
            if writer is None:
                writer = csv.DictWriter(opened, list(found))
                writer.writeheader()
            writer.writerow(found)


def word_row(analysis: Analysis, labels: Sequence[str], row: int) -> dict:
    """What is known of one word, by the names of the columns."""
    words = analysis.words
    found = {"word": words.names[row], "category": category_names(labels)[words.category[row]]}
    found |= {f"count {label}": count for label, count in zip(labels, words.counts[row], strict=True)}
    if words.association is not None:
        found["gamma"] = f"{words.association[row]:.4f}"
    kinds = [f" {label}" for label in labels] if len(labels) > 2 else [""]
    for name, scores in (("global", analysis.alone), ("local", analysis.in_texts)):
        found[f"{name} attention"] = f"{scores.attention[row]:.5g}"
        for kind, value in zip(kinds, scores.polarity[row], strict=True):
            found[f"{name} polarity{kind}"] = f"{value:.5g}"
    return found | {"attention weight": f"{analysis.in_texts.weight[row]:.5g}"}


def top_words(analysis: Analysis, labels: Sequence[str]) -> dict[str, list[str]]:
    scores, found = analysis.in_texts.attention.numpy(), {}
    for category, name in category_names(labels).items():
        own = np.flatnonzero((analysis.words.category == category) & (analysis.in_texts.occurrences.numpy() > 0))
        if len(own):
            found[name] = [analysis.words.names[row] for row in own[np.argsort(-scores[own], kind="stable")][:TOP]]
    return found
