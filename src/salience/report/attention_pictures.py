"""Pictures of an analysis of attention, after Figures 2 to 5 of Sun and Lu (ACL 2020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from salience.analysis.association import NONE, category_names
from salience.analysis.token_scores import polarity_of
from salience.comparison.attention import Analysis
from salience.report.pictures import COLOURS, GREY, save


def draw_all(analyses: Sequence[Analysis], labels: Sequence[str], shown: int, folder: Path) -> list[str]:
    """Writes every picture that there is something to draw of, as PNG and SVG; gives their names.

    Args:
        shown: which of the analyses the pictures of a single model show.
    """
    own = analyses[shown]
    pictures: dict[str, Callable] = {
        "polarity": lambda axes: scores(axes, own, labels, "polarity"),
        "attention": lambda axes: scores(axes, own, labels, "attention"),
        "weights": lambda axes: mean_weights(axes, own, labels),
    }
    if len(analyses) > 1:
        pictures["scales"] = lambda axes: over_scales(axes, analyses, labels)
    if own.trajectory:
        pictures["training"] = lambda axes: over_training(axes, own, labels)
    for name, draw in pictures.items():
        save(draw, folder / name)
    return list(pictures)


def present(analysis: Analysis, labels: Sequence[str]) -> list[tuple[int, str, str]]:
    """Category, name and colour of those that have words, but for the words of no category."""
    names = category_names(labels)
    found = sorted(set(analysis.words.category.tolist()) - {NONE}, reverse=True)
    return [(own, names[own], COLOURS[own % len(COLOURS)] if own >= 0 else GREY) for own in found]


def scores(axes, analysis: Analysis, labels: Sequence[str], name: str) -> None:
    """Attention or polarity scores."""
    frequency, attention, polarity = (
        analysis.words.counts.sum(1), analysis.in_texts.attention.numpy(), analysis.in_texts.polarity.numpy()
    )  # fmt: skip
    for category, label, colour in present(analysis, labels):
        own, values = analysis.words.category == category, attention
        if name == "polarity":
            values = polarity_of(polarity, category)
        by_frequency(axes, frequency[own], values[own], f"{label} words", colour)
    axes.set_ylabel(f"{name} score")
    axes.set_title(f"{name.capitalize()} score of words, scale {analysis.scale:g}", loc="left")
    axes.legend(frameon=False)


def mean_weights(axes, analysis: Analysis, labels: Sequence[str]) -> None:
    """In the test texts if there are any."""
    found, shown = analysis.in_test or analysis.in_texts, present(analysis, labels)
    seen = found.occurrences.numpy() > 0
    weights = [found.weight.numpy()[(analysis.words.category == category) & seen] for category, *_ in shown]
    weight_boxes(axes, weights, [f"{name} words" for _, name, _ in shown], [colour for *_, colour in shown])
    axes.set_title(f"Attention weights by category, scale {analysis.scale:g}", loc="left")


def by_frequency(axes, frequency, values, name: str, colour: str) -> None:
    """Figures 2 to 4: every word of a category, its score over how often it occurs."""
    axes.scatter(frequency, values, s=8, alpha=0.6, color=colour, label=name, linewidths=0)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xscale="log", xlabel="occurrences in the training texts")


def weight_boxes(axes, weights: Sequence, names: Sequence[str], colours: Sequence[str]) -> None:
    """Figure 5: the distribution of the mean attention weights of each category's words."""
    boxes = axes.boxplot(weights, showfliers=False, patch_artist=True, medianprops={"color": "black"})
    for box, colour in zip(boxes["boxes"], colours, strict=True):
        box.set_facecolor(colour)
    axes.set_xticks(range(1, len(names) + 1), names)
    axes.set_ylabel("mean attention weight of a word")


def over_scales(axes, analyses: Sequence[Analysis], labels: Sequence[str]) -> None:
    """The categories' mean attention scores over the scale, times the scale so that they can be compared."""
    for category, label, colour in present(analyses[0], labels):
        means = [own.scale * own.in_texts.attention.numpy()[own.words.category == category].mean() for own in analyses]
        axes.plot([own.scale for own in analyses], means, marker="o", color=colour, label=f"{label} words")
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xscale="log", xlabel="scale", ylabel="scale times mean attention score")
    axes.set_title("Attention score over the scale", loc="left")
    axes.legend(frameon=False)


def over_training(axes, analysis: Analysis, labels: Sequence[str]) -> None:
    """The categories' mean attention (lines) and polarity (dashes) scores, epoch by epoch."""
    epochs = [row["epoch"] for row in analysis.trajectory]
    for category, label, colour in present(analysis, labels):
        axes.plot(epochs, [row[f"attention {category}"] for row in analysis.trajectory], color=colour,
                  label=f"{label} words")  # fmt: skip
        polarity = polarity_of(np.array([row[f"polarity {category}"] for row in analysis.trajectory]), category)
        axes.plot(epochs, polarity, color=colour, linestyle=":")
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xlabel="epoch", ylabel="mean score: attention —, polarity ···")
    axes.set_title(f"Training, scale {analysis.scale:g}", loc="left")
    axes.legend(frameon=False)
