"""Pictures of what several methods predict: reliability diagrams and confusion matrices, a panel for each method.

All panels are drawn into one pair of axes, whose unit is the inch: every pair costs matplotlib more than its content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from matplotlib.axes import Axes

from salience.comparison.evidence import Predictions
from salience.comparison.predictions import Bin
from salience.report.comparison_pictures import BLUE, Drawing
from salience.report.pictures import GREY, HoverTexts, Marks, drawable

MOST_CLASSES = 12  # of a confusion matrix as a picture
NAME, METHOD = 22, 34  # characters of a class beside a matrix, and of a method above a panel
DIAGRAM = 1.7  # inches of a side of a reliability diagram
CELL, LETTER = 0.32, 0.075  # inches of a cell of a matrix, and of a letter of a class beside it
WIDTH = 11.0  # inches that pictures fill at most
DARK, LIGHT = "#222222", "#666666"


def reliability_diagrams(predictions: Predictions) -> Drawing:
    """Accuracy against confidence, pooled over seeds."""
    return diagrams(predictions.reliability)


def diagrams(methods: Mapping[str, list[Bin]]) -> Drawing:
    """Reliability diagrams beside each other.

    Args:
        methods: the title of each, and its bins.
    """
    step = (DIAGRAM + 0.6, DIAGRAM + 0.8)

    def draw(axes: Axes) -> HoverTexts:
        texts: dict[Marks, list[str]] = {}
        for place, (method, bins) in zip(places(len(methods), step), methods.items(), strict=True):
            texts |= draw_reliability(axes, place, method, bins)
        fit(axes, extent(len(methods), step))
        return texts

    return Drawing(draw, extent(len(methods), step))


def draw_reliability(axes: Axes, place: tuple[float, float], method: str, bins: list[Bin]) -> dict[Marks, list[str]]:
    """Draws the diagram of one method. A point below the diagonal is more confident than right.

    Args:
        place: of the lower left corner of the panel.
    """
    left, bottom = place[0] + 0.5, place[1] + 0.45
    middle = left + DIAGRAM / 2
    axes.plot([left, left, left + DIAGRAM], [bottom + DIAGRAM, bottom, bottom], color=DARK, linewidth=0.8)
    axes.plot([left, left + DIAGRAM], [bottom, bottom + DIAGRAM], "--", color=GREY, linewidth=1)
    (line,) = axes.plot(
        [left + DIAGRAM * each.confidence for each in bins], [bottom + DIAGRAM * each.accuracy for each in bins], "o-",
        color=BLUE, markersize=4, linewidth=1.2, clip_on=False,
    )  # fmt: skip
    for share in (0, 0.5, 1):
        at = DIAGRAM * share
        axes.text(left + at, bottom - 0.05, f"{100 * share:.0f}", ha="center", va="top", fontsize=7)
        axes.text(left - 0.05, bottom + at, f"{100 * share:.0f}", ha="right", va="center", fontsize=7)
    axes.text(middle, bottom - 0.22, "confidence (%)", ha="center", va="top", fontsize=7)
    axes.text(left - 0.3, bottom + DIAGRAM / 2, "accuracy (%)", ha="right", va="center", fontsize=7, rotation=90)
    axes.text(middle, bottom + DIAGRAM + 0.1, drawable(method, METHOD), ha="center", fontsize=8)
    rows = [each.rows for each in bins]
    count = f"{min(rows):,}" if min(rows) == max(rows) else f"{min(rows):,} to {max(rows):,}"
    axes.text(left + DIAGRAM, bottom + 0.04, f"each {count} predictions", ha="right", fontsize=6, color=LIGHT)
    return {
        line: [
            f"{method}: confidence {100 * each.confidence:.1f} %, accuracy {100 * each.accuracy:.1f} %, "
            f"{each.rows:,} predictions"
            for each in bins
        ]
    }


def confusion_matrices(predictions: Predictions) -> Drawing:
    """Mean number of test rows of each label with each prediction; the colour is the share of the label's rows."""
    methods, labels = predictions.confusions, predictions.labels
    names = LETTER * max(len(drawable(label, NAME)) for label in labels) + 0.35
    side = CELL * len(labels)
    step = (max(side + names, 2.0) + 0.2, side + names + 0.35)

    def draw(axes: Axes) -> HoverTexts:
        texts: dict[Marks, list[str]] = {}
        for (left, bottom), (method, counts) in zip(places(len(methods), step), methods.items(), strict=True):
            texts |= draw_confusion(axes, (left + names, bottom + names), method, counts, labels)
        fit(axes, extent(len(methods), step))
        return texts

    return Drawing(draw, extent(len(methods), step))


def draw_confusion(
    axes: Axes, place: tuple[float, float], method: str, counts: np.ndarray, labels: list[str]
) -> dict[Marks, list[str]]:
    """Draws the matrix of one method.

    Args:
        place: of the lower left corner of the matrix.
        counts: mean number of rows of each label with each prediction (C, C).
    """
    (left, bottom), classes = place, len(labels)
    side, top = CELL * classes, bottom + CELL * classes
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1e-9)
    edges = CELL * np.arange(classes + 1)
    mesh = axes.pcolormesh(
        left + edges, top - edges, shares, cmap="Blues", vmin=0, vmax=1, edgecolors="white", linewidth=1
    )
    for row, column in zip(*np.nonzero(counts), strict=True):
        axes.text(
            left + CELL * (column + 0.5), top - CELL * (row + 0.5), rounded(counts[row, column]), ha="center",
            va="center", fontsize=6, color="white" if shares[row, column] > 0.6 else DARK,
        )  # fmt: skip
    for number, label in enumerate(labels):
        at, short = CELL * (number + 0.5), drawable(label, NAME)
        axes.text(left - 0.05, top - at, short, ha="right", va="center", fontsize=7)
        axes.text(left + at, bottom - 0.05, short, ha="center", va="top", fontsize=7, rotation=90)
    axes.text(left + side, top + 0.08, drawable(method, METHOD), ha="right", fontsize=8)
    return {
        mesh: [
            f"{method}: {counts[row, column]:.1f} rows of {labels[row]} predicted as {labels[column]}"
            for row in range(classes) for column in range(classes)
        ]
    }  # fmt: skip


def rounded(count: float) -> str:
    """A mean number of rows in a small cell: '12', or '1.3'."""
    return f"{count:.0f}" if count >= 10 or count % 1 == 0 else f"{count:.1f}"


def columns_of(count: int, step: tuple[float, float]) -> int:
    """Number of panels of this size beside each other."""
    return min(count, max(1, int(WIDTH / step[0])))


def places(count: int, step: tuple[float, float]) -> Iterator[tuple[float, float]]:
    """The lower left corner of each panel, row by row from above, in inches.

    Args:
        count: number of panels.
        step: width and height of a panel in inches.
    """
    columns = columns_of(count, step)
    height = extent(count, step)[1]
    return ((step[0] * (each % columns), height - step[1] * (each // columns + 1)) for each in range(count))


def extent(count: int, step: tuple[float, float]) -> tuple[float, float]:
    """Width and height of so many panels in inches."""
    columns = columns_of(count, step)
    return step[0] * columns, step[1] * -(-count // columns)


def fit(axes: Axes, size: tuple[float, float]) -> None:
    """Makes the inch the unit of axes that fill their figure."""
    axes.set_axis_off()
    axes.set(xlim=(0, size[0]), ylim=(0, size[1]))
