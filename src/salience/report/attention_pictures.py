"""Pictures of an analysis of attention, after Figures 2 to 5 of Sun and Lu (ACL 2020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from salience.analysis.association import NONE, category_names
from salience.report.pictures import COLOURS, GREY, save
from salience.study.attention import Analysis


def draw_all(analyses: Sequence[Analysis], labels: Sequence[str], shown: int, folder: Path) -> list[str]:
    """Writes every picture that there is something to draw of, as PNG and SVG; gives their names.

    Args:
        shown: which of the analyses the pictures of a single model show.
    """
    own = analyses[shown]
    pictures: dict[str, Callable] = {
        "polarity": lambda axes: by_frequency(axes, own, labels, own.in_texts.polarity[:, -1], "polarity score"),
        "attention": lambda axes: by_frequency(axes, own, labels, own.in_texts.attention, "attention score"),
        "weights": lambda axes: weight_boxes(axes, own, labels),
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


def by_frequency(axes, analysis: Analysis, labels: Sequence[str], scores, name: str) -> None:
    """Figures 2 and 3: every word of a category, its score over how often it occurs."""
    frequency = analysis.words.counts.sum(1)
    for category, label, colour in present(analysis, labels):
        own = analysis.words.category == category
        axes.scatter(frequency[own], np.asarray(scores)[own], s=8, alpha=0.6, color=colour, label=f"{label} words",
                     linewidths=0)  # fmt: skip
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xscale="log", xlabel="occurrences in the training texts", ylabel=name)
    axes.set_title(f"{name.capitalize()} of words, scale {analysis.scale:g}", loc="left")
    axes.legend(frameon=False)


def weight_boxes(axes, analysis: Analysis, labels: Sequence[str]) -> None:
    """Figure 4: the mean attention weight of a category's words, in the test texts if there are any."""
    found = analysis.in_test or analysis.in_texts
    seen = found.occurrences.numpy() > 0
    shown = present(analysis, labels)
    weights = [found.weight.numpy()[(analysis.words.category == category) & seen] for category, *_ in shown]
    boxes = axes.boxplot(weights, showfliers=False, patch_artist=True, medianprops={"color": "black"})
    for box, (_, _, colour) in zip(boxes["boxes"], shown, strict=True):
        box.set_facecolor(colour)
    axes.set_xticks(range(1, len(shown) + 1), [f"{name} words" for _, name, _ in shown])
    axes.set_ylabel("mean attention weight of a word")
    axes.set_title(f"Attention weights by category, scale {analysis.scale:g}", loc="left")


def over_scales(axes, analyses: Sequence[Analysis], labels: Sequence[str]) -> None:
    """Figure 5: the categories' mean attention scores over the scale, times the scale so that they can be compared."""
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
        polarity = [row[f"polarity {category}"][-1] for row in analysis.trajectory]
        axes.plot(epochs, polarity, color=colour, linestyle=":")
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xlabel="epoch", ylabel="mean score: attention —, polarity ···")
    axes.set_title(f"Training, scale {analysis.scale:g}", loc="left")
    axes.legend(frameon=False)
