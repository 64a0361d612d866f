"""Pictures of a comparison: every run beside its interval, learning curves, and gain against cost.

Each function draws into the axes that it is given, and returns the texts that a mark shows under the pointer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from salience.comparison.evidence import LearningCurves
from salience.comparison.paired_difference import PairedDifference
from salience.comparison.results import ConditionResults
from salience.comparison.statistics import spread
from salience.report.comparison_words import times_in_words
from salience.report.curves import STYLES
from salience.report.pictures import COLOURS, GREY, HoverTexts, Marks, drawable, legend_beside

BLUE, GRID = COLOURS[1], "#dddddd"
MARKERS = "osD^vP*X"
NAME = 20  # characters of the baseline in the label of an axis, beside which axes need room


@dataclass(frozen=True)
class Drawing:
    """What `salience.report.pictures.picture` needs.

    Args:
        draw: draws into axes, or into an array of them if there are several panels.
        size: width and height in inches.
        panels: number of rows and columns.
    """

    draw: Callable[..., HoverTexts | None]
    size: tuple[float, float]
    panels: tuple[int, int] = (1, 1)


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
            scored.plot([values.mean()], [place], "|", color="#222222", markersize=16, markeredgewidth=2)
            if method == results.baseline:
                continue
            between = values - own[0]
            (line,) = gain.plot(between, dots - 0.22, "o", color=colour, alpha=0.35, markersize=3, clip_on=False)
            texts[line] = [
                f"{method}, seed {seed}: {value:+.2f} points" for seed, value in zip(seeds, between, strict=True)
            ]
            if method in results.differences:  # no claim is made about references
                texts |= mean_with_interval(gain, method, results.differences[method][scoring.main], place)
        gain.axvline(0, color=GREY, linewidth=1)
        scored.set_yticks(list(places), labels=methods)
        gain.set_yticks([])
        for each in axes:
            each.set_ylim(-0.6, len(methods) - 0.4)
            each.grid(axis="x", color=GRID, linewidth=0.6)
        scored.set_xlabel(f"{scoring.main_title} (%): runs, and their mean")
        gain.set_xlabel(f"difference to {drawable(results.baseline, NAME)} (points): interval, and runs")
        return texts

    return Drawing(draw, (9, 1 + 0.38 * len(methods)), (1, 2))


def mean_with_interval(axes: Axes, method: str, difference: PairedDifference, place: float) -> dict[Marks, list[str]]:
    """Draws a difference as a point on its interval, at the height `place`."""
    if difference.low is not None and difference.high is not None:
        axes.plot([difference.low, difference.high], [place, place], "-", color=BLUE, linewidth=2)
    filled = BLUE if difference.beyond_chance else "white"  # an interval that includes 0 has an open point
    (line,) = axes.plot([difference.mean], [place], "D", color=BLUE, markerfacecolor=filled, markersize=6)
    return {line: [f"{method}: {difference} points"]}


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
        axes.grid(axis="y", color=GRID, linewidth=0.6)
        legend_beside(axes)
        return texts

    return Drawing(draw, (7.5, 4.2))


def gain_against_cost(results: ConditionResults) -> Drawing:
    """The difference in the main score with its interval against the time, as a multiple of the baseline's."""

    def draw(axes: Axes) -> HoverTexts:
        axes.axhline(0, color=GRID, linewidth=1)
        (line,) = axes.plot([1], [0], "o", color=GREY, label=results.baseline)
        texts: dict[Marks, list[str]] = {line: [f"{results.baseline}: the baseline"]}
        for number, (method, by_score) in enumerate(results.differences.items()):
            difference, time = by_score[results.scoring.main], results.times(method)
            colour = COLOURS[number % len(COLOURS)]
            if difference.low is not None and difference.high is not None:
                axes.plot([time, time], [difference.low, difference.high], "-", color=colour, linewidth=1.5)
            marker = MARKERS[(number + 1) % len(MARKERS)]
            (line,) = axes.plot([time], [difference.mean], marker, color=colour, label=method, markersize=7)
            texts[line] = [times_in_words(results, method, difference)]
        axes.set_xlabel(f"time, as a multiple of that of {drawable(results.baseline, NAME)}")
        axes.set_ylabel(f"difference in {results.scoring.main_title} (points)")
        axes.margins(x=0.15)
        axes.grid(color=GRID, linewidth=0.6)
        legend_beside(axes)
        return texts

    return Drawing(draw, (7.5, 4))
