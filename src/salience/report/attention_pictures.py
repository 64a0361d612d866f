"""Pictures of an analysis of attention, after Figures 2 to 5 of Sun and Lu (ACL 2020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from salience.analysis.association import NONE, category_names
from salience.analysis.token_scores import polarity_of
from salience.comparison.attention import Analysis
from salience.report.pictures import COLOURS, GREY, HoverTexts, Marks, legend_beside, save

CROWD = 200  # points of a category above which they are drawn small
ROOM = 60  # letters of names below an axis that stand beside each other


def draw_all(analyses: Sequence[Analysis], labels: Sequence[str], shown: int, folder: Path) -> dict[str, str]:
    """Writes every picture for which there are values, as PNG and SVG.

    Args:
        analyses: one for each scale.
        labels: the C labels.
        shown: index of the analysis that the pictures of a single model show.

    Returns:
        The SVG pictures by name.
    """
    analysis = analyses[shown]
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


def mean_weights(axes: Axes, analysis: Analysis, labels: Sequence[str]) -> HoverTexts:
    """Mean attention weights by category, in the test texts if there are any, else in the training texts."""
    measured, categories = analysis.in_test or analysis.in_texts, shown_categories(analysis, labels)
    present = measured.occurrences.numpy() > 0
    weights = [measured.weight.numpy()[(analysis.words.category == category) & present] for category, *_ in categories]
    names, colours = [f"{name} words" for _, name, _ in categories], [colour for *_, colour in categories]
    texts = weight_boxes(axes, weights, names, colours)
    axes.set_title(f"Attention weights by category, scale {analysis.scale:g}", loc="left")
    return texts


def by_frequency(
    axes: Axes, frequency, values, name: str, colour: str, words: Sequence[str] | None = None
) -> HoverTexts:
    """Figures 2 to 4: each word of a category, its score over its number of occurrences.

    Args:
        frequency: (W,) occurrences in the training texts.
        values: (W,) scores.
        name: the category, for the legend.
        words: (W,) the words; with them, the texts of the points are returned.
    """
    size = 8 if len(frequency) > CROWD else 20
    points = axes.scatter(frequency, values, s=size, alpha=0.6, color=colour, label=name, linewidths=0)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xscale="log", xlabel="occurrences in the training texts")
    if words is None:
        return {}
    described = zip(words, np.asarray(frequency).tolist(), np.asarray(values).tolist(), strict=True)
    return {points: [f"{word}: {count} occurrences, score {value:.3g}" for word, count, value in described]}


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
    scales = [analysis.scale for analysis in analyses]
    for category, label, colour in shown_categories(analyses[0], labels):
        means = [
            analysis.scale * analysis.in_texts.attention.numpy()[analysis.words.category == category].mean()
            for analysis in analyses
        ]
        (line,) = axes.plot(scales, means, marker="o", color=colour, label=f"{label} words")
        texts[line] = [
            f"{label} words: scale {scale:g}, scale times mean score {mean:.3g}"
            for scale, mean in zip(scales, means, strict=True)
        ]
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xscale="log", xlabel="scale", ylabel="scale times mean attention score")
    axes.set_title("Attention score over the scale", loc="left")
    legend_beside(axes)
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
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xlabel="epoch", ylabel="mean score: attention —, polarity ···")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axes.set_title(f"Training, scale {analysis.scale:g}", loc="left")
    legend_beside(axes)
    return texts
