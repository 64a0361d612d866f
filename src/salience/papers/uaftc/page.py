"""An analysis of attention (Sun and Lu, ACL 2020, section 5) as pictures, as tables of words, and as one page."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from salience.audit.words import NONE, category_names
from salience.papers.uaftc.analysis import Analysis, polarity_of
from salience.report.page import PACKAGE, asset, framed
from salience.report.pictures import COLOURS, GREY, HoverTexts, Marks, Styles, inline, legend_beside, save
from salience.templating import render

CROWD = 200  # points of a category above which they are drawn small
ROOM = 60  # letters of names below an axis that stand beside each other
TOP = 15  # words shown for each category
PICTURES = {
    "polarity": "polarity scores of words over their frequency",
    "attention": "attention scores of words over their frequency",
    "weights": "attention weights of words by category",
    "scales": "mean attention scores over the scale",
    "training": "mean scores over the epochs of training",
}


def write_analysis(analyses: Sequence[Analysis], labels: Sequence[str], title: str, folder: Path) -> int:
    """Writes pictures, summary.json, the first model's words.csv, and the page; returns the number of pictures."""
    pictures = draw_all(analyses, labels, folder)
    summary = {
        "categories": [row for analysis in analyses for row in category_rows(analysis, labels)],
        "trajectories": {f"{analysis.scale:g}": analysis.trajectory for analysis in analyses},
    }
    (folder / "summary.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")
    rows = list(word_rows(analyses[0], labels))
    with (folder / "words.csv").open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        if rows:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    (folder / "index.html").write_text(attention_page(analyses, labels, pictures, title), encoding="utf-8")
    return len(pictures)


def draw_all(analyses: Sequence[Analysis], labels: Sequence[str], folder: Path) -> dict[str, str]:
    """Writes every picture for which there are values, as PNG and SVG, and returns the SVG by name."""
    analysis = analyses[0]
    pictures: dict[str, Callable[[Axes], HoverTexts | None]] = {
        "polarity": partial(scores, analysis=analysis, labels=labels, name="polarity"),
        "attention": partial(scores, analysis=analysis, labels=labels, name="attention"),
        "weights": partial(mean_weights, analysis=analysis, labels=labels),
    }
    if len(analyses) > 1:
        pictures["scales"] = partial(over_scales, analyses=analyses, labels=labels)
    if analysis.trajectory:
        pictures["training"] = partial(over_training, analysis=analysis, labels=labels)
    return {name: save(draw, folder / name) for name, draw in pictures.items()}


def shown_categories(analysis: Analysis, labels: Sequence[str]) -> list[tuple[int, str, str]]:
    """Number, name and colour of the categories that have words, without the words of no category."""
    names = category_names(labels)
    present = sorted(set(analysis.words.category.tolist()) - {NONE}, reverse=True)
    return [
        (category, names[category], COLOURS[category % len(COLOURS)] if category >= 0 else GREY)
        for category in present
    ]


def scores(axes: Axes, analysis: Analysis, labels: Sequence[str], name: str) -> HoverTexts:
    """Attention or polarity scores of words over their frequency; `name` says which."""
    frequency = analysis.words.counts.sum(1)
    attention, polarity = analysis.in_texts.attention.numpy(), analysis.in_texts.polarity.numpy()
    texts: dict[Marks, Sequence[str]] = {}
    for category, label, colour in shown_categories(analysis, labels):
        chosen = np.flatnonzero(analysis.words.category == category)
        values = polarity_of(polarity, category) if name == "polarity" else attention
        words = [analysis.words.names[index] for index in chosen]
        texts |= by_frequency(axes, frequency[chosen], values[chosen], f"{label} words", colour, words)
    axes.set_ylabel(f"{name} score")
    axes.set_title(f"{name.capitalize()} score of words, scale {analysis.scale:g}", loc="left")
    legend_beside(axes)
    return texts


def by_frequency(
    axes: Axes, frequency: ArrayLike, values: ArrayLike, name: str, colour: str, words: Sequence[str] | None = None
) -> HoverTexts:
    """Figures 2 to 4: each word of a category, its score over its number of occurrences (W,)."""
    size = 8 if np.size(frequency) > CROWD else 20
    points = axes.scatter(frequency, values, s=size, alpha=0.6, color=colour, label=name, linewidths=0)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xscale="log", xlabel="occurrences in the training texts")
    if words is None:
        return {}
    described = zip(words, np.asarray(frequency).tolist(), np.asarray(values).tolist(), strict=True)
    return {points: [f"{word}: {count} occurrences, score {value:.3g}" for word, count, value in described]}


def mean_weights(axes: Axes, analysis: Analysis, labels: Sequence[str]) -> HoverTexts:
    """Mean attention weights by category, in the test texts if there are any, else in the training texts."""
    measured, categories = analysis.in_test or analysis.in_texts, shown_categories(analysis, labels)
    present = measured.occurrences.numpy() > 0
    weights = [measured.weight.numpy()[(analysis.words.category == category) & present] for category, *_ in categories]
    names, colours = [f"{name} words" for _, name, _ in categories], [colour for *_, colour in categories]
    texts = weight_boxes(axes, weights, names, colours)
    axes.set_title(f"Attention weights by category, scale {analysis.scale:g}", loc="left")
    return texts


def weight_boxes(axes: Axes, weights: Sequence, names: Sequence[str], colours: Sequence[str]) -> HoverTexts:
    """Figure 5: the distribution of the words' mean attention weights, a box for each category."""
    boxes = axes.boxplot(weights, showfliers=False, patch_artist=True, medianprops={"color": "black"})["boxes"]
    for box, colour in zip(boxes, colours, strict=True):
        box.set_facecolor(colour)
    axes.set_xticks(range(1, len(names) + 1), names)
    if sum(map(len, names)) > ROOM:
        axes.tick_params("x", labelrotation=30)
        for text in axes.get_xticklabels():
            text.set(horizontalalignment="right", rotation_mode="anchor")
    axes.set_ylabel("mean attention weight of a word")
    quartiles = [np.percentile(values, (25, 50, 75)) if len(values) else (np.nan,) * 3 for values in weights]
    return {
        box: [f"{name}: median {median:.3g}, half of the words from {low:.3g} to {high:.3g}"]
        for box, name, (low, median, high) in zip(boxes, names, quartiles, strict=True)
    }


def over_scales(axes: Axes, analyses: Sequence[Analysis], labels: Sequence[str]) -> HoverTexts:
    """The categories' mean attention scores over the scale, times the scale so that they can be compared."""
    texts: dict[Marks, list[str]] = {}
    for category, label, colour in shown_categories(analyses[0], labels):
        means = {
            each.scale: each.scale * each.in_texts.attention.numpy()[each.words.category == category].mean()
            for each in analyses
        }
        (line,) = axes.plot([*means], [*means.values()], marker="o", color=colour, label=f"{label} words")
        texts[line] = [
            f"{label} words: scale {scale:g}, scale times mean score {mean:.3g}" for scale, mean in means.items()
        ]
    axes.set(xscale="log", xlabel="scale", ylabel="scale times mean attention score")
    finish(axes, "Attention score over the scale")
    return texts


def over_training(axes: Axes, analysis: Analysis, labels: Sequence[str]) -> HoverTexts:
    """The categories' mean attention scores (lines) and polarity scores (dotted lines) after each epoch."""
    texts: dict[Marks, list[str]] = {}
    epochs = [row["epoch"] for row in analysis.trajectory]
    for category, label, colour in shown_categories(analysis, labels):
        attention = np.array([row[f"attention {category}"] for row in analysis.trajectory])
        polarity = polarity_of(np.array([row[f"polarity {category}"] for row in analysis.trajectory]), category)
        for name, means, style in (("attention", attention, "-"), ("polarity", polarity, ":")):
            named = f"{label} words" if name == "attention" else None
            (line,) = axes.plot(epochs, means, style, marker=".", markersize=4, color=colour, label=named)
            texts[line] = [
                f"{label} words: epoch {epoch}, mean {name} score {mean:.3g}"
                for epoch, mean in zip(epochs, means.tolist(), strict=True)
            ]
    axes.set(xlabel="epoch", ylabel="mean score: attention —, polarity ···")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    finish(axes, f"Training, scale {analysis.scale:g}")
    return texts


def finish(axes: Axes, title: str) -> None:
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set_title(title, loc="left")
    legend_beside(axes)


def attention_page(
    analyses: Sequence[Analysis], labels: Sequence[str], pictures: Mapping[str, str], title: str
) -> str:
    """The page as HTML: categories with their mean scores, the pictures, and the words with the highest scores."""
    styles, analysis, top = Styles(), analyses[0], {}
    attention = analysis.in_texts.attention.numpy()
    for category, name in category_names(labels).items():
        indices = np.flatnonzero((analysis.words.category == category) & (analysis.in_texts.occurrences.numpy() > 0))
        if len(indices):
            highest = indices[np.argsort(-attention[indices], kind="stable")][:TOP]
            top[name] = [analysis.words.names[index] for index in highest]
    body = render(
        PACKAGE,
        "attention.html.jinja",
        title=title,
        labels=labels,
        summary=[
            {
                key: f"{value:.3g}" if isinstance(value, float) else "-" if value is None else value
                for key, value in row.items()
            }
            for each in analyses
            for row in category_rows(each, labels)
        ],
        pictures={name: inline(svg, styles, PICTURES[name]) for name, svg in pictures.items()},
        top=top,
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


def word_rows(analysis: Analysis, labels: Sequence[str]) -> Iterator[dict]:
    """One row for each word of the training texts, the most frequent word first."""
    words, names = analysis.words, category_names(labels)
    total = words.counts.sum(1)
    classes = [f" {label}" for label in labels] if len(labels) > 2 else [""]
    for index in np.argsort(-total, kind="stable")[: np.count_nonzero(total)]:
        row = {"word": words.names[index], "category": names[words.category[index]]}
        row |= {f"count {label}": count for label, count in zip(labels, words.counts[index], strict=True)}
        if words.association is not None:
            row["gamma"] = f"{words.association[index]:.4f}"
        for name, found in (("global", analysis.alone), ("local", analysis.in_texts)):
            row[f"{name} attention"] = f"{found.attention[index]:.5g}"
            for label, value in zip(classes, found.polarity[index], strict=True):
                row[f"{name} polarity{label}"] = f"{value:.5g}"
        yield row | {"attention weight": f"{analysis.in_texts.weight[index]:.5g}"}
