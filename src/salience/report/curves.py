"""Curves of a percentage over a number of words, drawn into axes of matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from salience.report.pictures import COLOURS, GREY, HoverTexts, Marks, legend_beside

STYLES = ("-", "--", ":", "-.")  # of lines, once the colours are used up
MANY = 40  # points of a line above which its markers are small


def draw_curves(axes: Axes, curves: Mapping[str, Sequence[float]], x_label: str, y_label: str) -> HoverTexts:
    """Draws a line with markers for each curve, with a legend, and returns the texts of their points.

    Args:
        curves: by name, shares in [0, 1] for x = 0, 1, 2, ...; a curve named "random" is grey.
        x_label: what is counted, for example "words removed".
        y_label: what is measured, for example "accuracy"; its unit, %, is added.
    """
    texts: dict[Marks, list[str]] = {}
    for number, (name, shares) in enumerate(curves.items()):
        percentages = [100 * share for share in shares]
        (line,) = axes.plot(
            range(len(percentages)), percentages, STYLES[number // len(COLOURS) % len(STYLES)], marker="o",
            markersize=5 if len(percentages) <= MANY else 3, label=name, clip_on=False,
            color=GREY if name == "random" else COLOURS[number % len(COLOURS)],
        )  # fmt: skip
        texts[line] = [
            f"{name}: {count} {x_label}, {y_label} {percentage:.1f} %" for count, percentage in enumerate(percentages)
        ]
    values = [100 * share for shares in curves.values() for share in shares]
    margin = max(0.05 * (max(values) - min(values)), 1)
    axes.set_ylim(max(min(values) - margin, 0), min(max(values) + margin, 100))
    axes.set(xlabel=x_label, ylabel=f"{y_label} (%)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    legend_beside(axes)
    return texts
