"""Pictures of the report of a run: the loss and the validation scores over the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from salience.report.comparison_pictures import BLUE, GRID, Drawing
from salience.report.pictures import COLOURS, GREY, HoverTexts, Marks

LOSSES = {"loss": "training loss", "validation_log_loss": "validation log loss"}
SCORES = {
    "validation_accuracy": "accuracy", "validation_macro_f1": "macro-F1", "validation_micro_f1": "micro-F1",
    "validation_ranking_precision": "ranking precision",
}  # fmt: skip
SIZE = (5.6, 3.0)  # inches


def history_drawings(history: Sequence[Mapping[str, Any]], best: int | None) -> list[tuple[str, Drawing]]:
    """Pictures with their captions: the losses, and the validation scores if there are any.

    Args:
        history: as of `salience.training.history.history_of`.
        best: the step of the selected checkpoint; None if none was selected.
    """
    captions = (
        (LOSSES, "Loss over the steps", "loss (nats)"),
        (SCORES, "Scores on the validation rows", "score"),
    )
    return [
        (caption, Drawing(drawer(history, names, label, best), SIZE))
        for names, caption, label in captions
        if any(points(history, name)[0] for name in names)
    ]


def points(history: Sequence[Mapping[str, Any]], name: str) -> tuple[list[int], list[float]]:
    """The steps at which a number was measured, and the number; those that are not finite are left out."""
    found = [(point["step"], point[name]) for point in history if point.get(name) is not None]
    return [step for step, _ in found], [value for _, value in found]


def drawer(history: Sequence[Mapping[str, Any]], names: Mapping[str, str], label: str, best: int | None):
    """Draws a line for each of the numbers into axes."""

    def draw(axes: Axes) -> HoverTexts:
        texts: dict[Marks, list[str]] = {}
        for (name, title), colour in zip(names.items(), (BLUE, COLOURS[0], COLOURS[1], COLOURS[2]), strict=False):
            steps, values = points(history, name)
            if not steps:
                continue
            (line,) = axes.plot(steps, values, "o-", color=colour, markersize=3, linewidth=1.2, label=title)
            texts[line] = [f"step {step:,}: {title} {value:.3f}" for step, value in zip(steps, values, strict=True)]
        if best is not None:
            axes.axvline(best, color=GREY, linestyle="--", linewidth=1, label="selected checkpoint")
        shown = [value for name in names for value in points(history, name)[1]]
        margin = max(0.05 * float(np.ptp(shown)), 0.005)
        axes.set_ylim(max(min(shown) - margin, 0), max(shown) + margin)
        axes.set(xlabel="step", ylabel=label)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        axes.grid(axis="y", color=GRID, linewidth=0.6)
        axes.legend(frameon=False, fontsize=8)
        return texts

    return draw
