"""An analysis of attention (Sun and Lu, ACL 2020, section 5) as tables of words and categories, and as one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from salience.analysis.association import category_names
from salience.analysis.token_scores import polarity_of
from salience.comparison.attention import Analysis
from salience.report.inline_svg import Styles, inline
from salience.report.page import PACKAGE, asset, framed
from salience.templating import render

TOP = 15  # words shown for each category
PICTURES = {
    "polarity": "polarity scores of words over their frequency",
    "attention": "attention scores of words over their frequency",
    "weights": "attention weights of words by category",
    "scales": "mean attention scores over the scale",
    "training": "mean scores over the epochs of training",
}


def attention_page(
    analyses: Sequence[Analysis], labels: Sequence[str], shown: int, pictures: Mapping[str, str], title: str
) -> str:
    """The page as HTML: categories with their mean scores, the pictures, and the words with the highest scores.

    Args:
        analyses: one for each scale.
        labels: the C labels.
        shown: index of the analysis whose words are listed.
        pictures: SVG files by name, as `attention_pictures.draw_all` returns them.
    """
    styles = Styles()
    body = render(
        PACKAGE,
        "attention.html.jinja",
        title=title,
        labels=labels,
        summary=[rounded(row) for analysis in analyses for row in category_rows(analysis, labels)],
        pictures={name: inline(svg, styles, PICTURES[name]) for name, svg in pictures.items()},
        top=top_words(analyses[shown], labels),
    )
    return framed(title, asset("attention.css") + styles.sheet(), body)


def category_rows(analysis: Analysis, labels: Sequence[str]) -> list[dict]:
    """One row for each category that has words: how many, and their mean scores."""
    rows = []
    for category, name in category_names(labels).items():
        chosen = (analysis.words.category == category) & (analysis.in_texts.occurrences.numpy() > 0)
        if chosen.any():
            rows.append({
                "scale": analysis.scale, "category": name, "words": int(chosen.sum()),
                "attention score": float(analysis.in_texts.attention.numpy()[chosen].mean()),
                "polarity score": float(polarity_of(analysis.in_texts.polarity.numpy()[chosen], category).mean()),
                "attention weight": float(analysis.in_texts.weight.numpy()[chosen].mean()),
                "|V^T W|": analysis.alignment, "test accuracy": analysis.test_accuracy,
            })  # fmt: skip
    return rows


def rounded(row: Mapping) -> dict:
    """The values as a table shows them: three significant digits, and "-" for None."""
    return {
        key: f"{value:.3g}" if isinstance(value, float) else "-" if value is None else value
        for key, value in row.items()
    }


def word_rows(analysis: Analysis, labels: Sequence[str]) -> Iterator[dict]:
    """One row for each word of the training texts, the most frequent word first.

    The keys are column names: word, category, the count in each class, gamma (two classes only), global and local
    attention and polarity scores, and the mean attention weight.
    """
    words, names = analysis.words, category_names(labels)
    total = words.counts.sum(1)
    classes = [f" {label}" for label in labels] if len(labels) > 2 else [""]
    for index in np.argsort(-total, kind="stable")[: np.count_nonzero(total)]:
        row = {"word": words.names[index], "category": names[words.category[index]]}
        row |= {f"count {label}": count for label, count in zip(labels, words.counts[index], strict=True)}
        if words.association is not None:
            row["gamma"] = f"{words.association[index]:.4f}"
        for name, scores in (("global", analysis.alone), ("local", analysis.in_texts)):
            row[f"{name} attention"] = f"{scores.attention[index]:.5g}"
            for label, value in zip(classes, scores.polarity[index], strict=True):
                row[f"{name} polarity{label}"] = f"{value:.5g}"
        yield row | {"attention weight": f"{analysis.in_texts.weight[index]:.5g}"}


def top_words(analysis: Analysis, labels: Sequence[str]) -> dict[str, list[str]]:
    """For each category that has words, those with the highest local attention scores."""
    scores, top = analysis.in_texts.attention.numpy(), {}
    for category, name in category_names(labels).items():
        indices = np.flatnonzero((analysis.words.category == category) & (analysis.in_texts.occurrences.numpy() > 0))
        if len(indices):
            highest = indices[np.argsort(-scores[indices], kind="stable")][:TOP]
            top[name] = [analysis.words.names[index] for index in highest]
    return top
