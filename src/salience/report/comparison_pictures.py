"""Pictures of a comparison, and of a run: runs and intervals, learning curves, gain against cost, and predictions.

Each function draws into the axes that it is given, and returns the texts that a mark shows under the pointer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from salience.comparison.comparison import LearningCurves
from salience.comparison.paired_difference import PairedDifference
from salience.comparison.results import ConditionResults
from salience.comparison.variation import Difference, spread
from salience.report.page import Cell, Table
from salience.report.pictures import (
    BLUE,
    COLOURS,
    DARK,
    GREY,
    LIGHT,
    MARKERS,
    STYLES,
    WHITE,
    Drawing,
    HoverTexts,
    Marks,
    drawable,
    legend_beside,
    name_lines,
)
from salience.scores.labels import Bin

# What the axes of a reliability diagram are, by whether a text can have several labels.
RELIABILITY = {
    False: "accuracy against confidence",
    True: "share of the texts that have a label (accuracy) against its probability (confidence)",
}
NAME = 20  # characters of the baseline in the label of an axis, beside which axes need room
METHOD = 34  # characters of a method above a diagram
DIAGRAM = 1.7  # inches of a side of a reliability diagram
WIDTH = 6.0  # inches that pictures fill at most: made smaller, their texts can be read in a window of 400 pixels


def runs_and_intervals(results: ConditionResults, seeds: Sequence[int]) -> Drawing:
    """The main score of every run as a dot beside the differences from the baseline with their intervals."""
    methods, scoring = list(results.scores), results.scoring
    places = range(len(methods) - 1, -1, -1)  # the baseline on top

    def draw(axes: np.ndarray) -> HoverTexts:
        scored, gain = axes
        texts: dict[Marks, list[str]] = {}
        own = np.array([results.scores[method][scoring.main] for method in methods])
        for method, values, place in zip(methods, own, places, strict=True):
            colour = BLUE if method in results.differences else GREY
            dots = np.full(len(seeds), float(place))
            (line,) = scored.plot(values, dots, "o", color=colour, alpha=0.6, markersize=5, clip_on=False)
            texts[line] = [f"{method}, seed {seed}: {value:.2f} %" for seed, value in zip(seeds, values, strict=True)]
            scored.plot([values.mean()], [place], "|", color=DARK, markersize=16, markeredgewidth=2)
            if method == results.baseline:
                continue
            between = values - own[0]
            (line,) = gain.plot(between, dots - 0.22, "o", color=colour, alpha=0.35, markersize=3, clip_on=False)
            texts[line] = [
                f"{method}, seed {seed}: {value:+.2f} points" for seed, value in zip(seeds, between, strict=True)
            ]
            if method in results.differences:  # no claim is made about references
                found = results.differences[method][scoring.main]
                if found.low is not None and found.high is not None:
                    gain.plot([found.low, found.high], [place, place], "-", color=BLUE, linewidth=2)
                filled = BLUE if found.beyond_chance else WHITE  # an interval that includes 0 has an open point
                (line,) = gain.plot([found.mean], [place], "D", color=BLUE, markerfacecolor=filled, markersize=6)
                texts[line] = [f"{method}: {found} points"]
        gain.axvline(0, color=GREY, linewidth=1)
        scored.set_yticks(list(places), labels=methods)
        gain.set_yticks([])
        for each in axes:
            each.set_ylim(-0.6, len(methods) - 0.4)
            each.grid(axis="x")
            each.xaxis.set_major_locator(MaxNLocator(4))
        scored.set_xlabel(f"{scoring.main_title} (%)")
        gain.set_xlabel("difference (points)")
        return texts

    return Drawing(draw, (WIDTH, 1.2 + 0.38 * len(methods)), (1, 2))


def forest(differences: Mapping[str, PairedDifference], baseline: str, score: str) -> Drawing:
    """The difference of each method to the baseline with its interval; filled points have an interval without 0."""
    methods = list(differences)

    def draw(axes: Axes) -> HoverTexts:
        texts: dict[Marks, list[str]] = {}
        for place, (method, found) in zip(range(len(methods) - 1, -1, -1), differences.items(), strict=True):
            if found.low is not None and found.high is not None:
                axes.plot([found.low, found.high], [place, place], "-", color=BLUE, linewidth=2)
            filled = BLUE if found.beyond_chance else WHITE
            (line,) = axes.plot([found.mean], [place], "D", color=BLUE, markerfacecolor=filled, markersize=6)
            texts[line] = [f"{method}: {found} points"]
        axes.axvline(0, color=GREY, linewidth=1)
        axes.set_yticks(range(len(methods) - 1, -1, -1), labels=methods)
        axes.set_ylim(-0.6, len(methods) - 0.4)
        axes.grid(axis="x")
        axes.set_xlabel(f"difference to {drawable(baseline, NAME)} in {score} (points)")
        return texts

    return Drawing(draw, (5, 0.8 + 0.32 * len(methods)))


def forests(
    panels: Mapping[str, Mapping[str, Mapping[str, Difference]]], conditions: Sequence[str], label: str
) -> Drawing:
    """Forest plots beside each other, one for each title: of each method the differences of several conditions.

    Conditions have colours and lie below each other. All panels have the same methods and limits: an interval that
    leaves them is cut, and a triangle stands for a mean beyond. Points are as of `forest`.
    """
    methods = list(dict.fromkeys(method for own in panels.values() for method in own))
    means = [each.mean for own in panels.values() for found in own.values() for each in found.values()]
    limit = 2.5 * max(1.0, float(np.quantile(np.abs(means), 0.8)))
    height = 0.8 / len(conditions)

    def draw(axes: np.ndarray) -> HoverTexts:
        texts: dict[Marks, list[str]] = {}
        for number, (panel, (title, own)) in enumerate(zip(np.atleast_1d(axes), panels.items(), strict=True)):
            for (row, method), (column, condition) in product(enumerate(methods), enumerate(conditions)):
                found = own.get(method, {}).get(condition)
                if found is None:
                    continue
                place, colour = row - 0.4 + height * (column + 0.5), COLOURS[column % len(COLOURS)]
                if found.low is not None and found.high is not None:
                    panel.plot([found.low, found.high], [place, place], "-", color=colour, linewidth=1)
                filled = colour if found.beyond_chance else WHITE
                marker = "D" if abs(found.mean) < limit else "<" if found.mean < 0 else ">"
                at = min(max(found.mean, -limit), limit)
                (line,) = panel.plot(
                    [at], [place], marker, color=colour, markerfacecolor=filled, markersize=3, clip_on=False
                )
                texts[line] = [f"{method}, {title}, {condition}: {found} points"]
            panel.axvline(0, color=GREY, linewidth=1)
            panel.set(xlim=(-limit, limit), ylim=(len(methods) - 0.5, -0.5))
            panel.set_yticks(range(len(methods)), labels=[] if number else methods)
            panel.set_title(title, fontsize="small")
            panel.xaxis.set_major_locator(MaxNLocator(3, integer=True))
            panel.grid(axis="x")
        figure = np.atleast_1d(axes)[0].figure
        figure.supxlabel(label, fontsize="medium")
        lines = [
            Line2D([], [], color=COLOURS[number % len(COLOURS)], marker="D", markersize=3)
            for number in range(len(conditions))
        ]
        figure.legend(lines, conditions, loc="outside upper right", ncols=len(conditions))
        return texts

    return Drawing(draw, (2.6 + 0.95 * len(panels), 1.2 + 0.3 * len(methods)), (1, len(panels)))


def learning_curves(curves: LearningCurves) -> Drawing:
    """The mean main score against the number of labelled rows (logarithmic), in a band of a standard deviation."""

    def draw(axes: Axes) -> HoverTexts:
        texts: dict[Marks, list[str]] = {}
        # The logarithms are taken here: each tick is then a size of the grid, and no other.
        at = np.log10(curves.rows)
        for number, (method, values) in enumerate(curves.values.items()):
            mean = np.array([np.mean(own) for own in values])
            deviation = np.array([np.std(own, ddof=1) if len(own) > 1 else 0.0 for own in values])
            colour = COLOURS[(number - 1) % len(COLOURS)] if number else GREY
            style = STYLES[(number - 1) // len(COLOURS) % len(STYLES)] if number else "-"
            axes.fill_between(at, mean - deviation, mean + deviation, color=colour, alpha=0.15, linewidth=0)
            (line,) = axes.plot(
                at, mean, style, marker=MARKERS[number % len(MARKERS)], color=colour, label=method, clip_on=False
            )
            texts[line] = [
                f"{method}, {rows:,} rows: {spread(own)} %" for rows, own in zip(curves.rows, values, strict=True)
            ]
        ticks = sorted(set(curves.rows))
        axes.set_xticks(np.log10(ticks), labels=[f"{rows:,}" for rows in ticks])
        axes.set(xlabel="labelled rows (logarithmic axis)", ylabel=f"{curves.score} (%)")
        axes.grid(axis="y")
        name_lines(axes)
        return texts

    return Drawing(draw, (WIDTH, 3.8))


def gain_against_cost(results: ConditionResults) -> Drawing:
    """The difference in the main score with its interval against the time, as a multiple of the baseline's."""

    def draw(axes: Axes) -> HoverTexts:
        axes.axhline(0, color=GREY, linewidth=1)
        (line,) = axes.plot([1], [0], "o", color=GREY, label=results.baseline)
        texts: dict[Marks, list[str]] = {line: [f"{results.baseline}: the baseline"]}
        for number, (method, by_score) in enumerate(results.differences.items()):
            difference, time = by_score[results.scoring.main], results.times(method)
            colour = COLOURS[number % len(COLOURS)]
            if difference.low is not None and difference.high is not None:
                axes.plot([time, time], [difference.low, difference.high], "-", color=colour, linewidth=1.5)
            marker = MARKERS[(number + 1) % len(MARKERS)]
            (line,) = axes.plot([time], [difference.mean], marker, color=colour, label=method, markersize=7)
            texts[line] = [f"{method}: {difference} points, {time:.2f} times the time of {results.baseline}"]
        axes.set_xlabel(f"time, as a multiple of that of {drawable(results.baseline, NAME)}")
        axes.set_ylabel(f"difference in {results.scoring.main_title} (points)")
        axes.margins(x=0.15)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.grid()
        legend_beside(axes)
        return texts

    return Drawing(draw, (WIDTH, 3.6))


def reliability_diagrams(methods: Mapping[str, list[Bin]]) -> Drawing:
    """Accuracy against confidence, from the bins of each title: diagrams beside and below each other, in inches.

    One pair of axes for all of them is drawn many times faster than one for each.
    """
    wide, high = DIAGRAM + 0.6, DIAGRAM + 0.8
    columns = min(len(methods), int(WIDTH / wide))
    width, height = wide * columns, high * -(-len(methods) // columns)

    def draw(axes: Axes) -> HoverTexts:
        texts: dict[Marks, list[str]] = {}
        for number, (method, bins) in enumerate(methods.items()):
            left, bottom = wide * (number % columns) + 0.5, height - high * (number // columns + 1) + 0.45
            texts |= draw_reliability(axes, left, bottom, method, bins)
        axes.set_axis_off()
        axes.set(xlim=(0, width), ylim=(0, height))
        return texts

    return Drawing(draw, (width, height))


def draw_reliability(axes: Axes, left: float, bottom: float, method: str, bins: list[Bin]) -> dict[Marks, list[str]]:
    """Draws the diagram of one method. A point below the diagonal is more confident than right."""
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
    axes.text(middle, bottom + DIAGRAM + 0.1, drawable(method, METHOD), ha="center", fontsize=9)
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


def confusion_matrix(name: str, labels: Sequence[str], counts: np.ndarray) -> Table:
    """The number of rows (C, C) of each label with each prediction; the colour is the share of the label's rows."""
    signs = 2 * np.eye(len(labels)) - 1  # those of errors are below 0
    shares = signs * counts / np.maximum(counts.sum(1, keepdims=True), 1e-9)
    rows: list[list[str | Cell]] = [[label] for label in labels]
    for row, column in np.ndindex(counts.shape):
        count = counts[row, column]
        text = f"{count:,.0f}" if count >= 10 or count % 1 == 0 else f"{count:.1f}"
        rows[row].append(Cell(text if count else "", share=float(shares[row, column])))
    return Table([name, *labels], rows, matrix=True)
