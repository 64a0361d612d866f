"""Drawing a picture into files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from math import isnan
from pathlib import Path

from salience.errors import InputError, printable

FORMATS = ("png", "svg")
COLOURS = ("#c44e52", "#4c72b0", "#55a868", "#8172b3", "#ccb974", "#64b5cd", "#937860", "#da8bc3")  # by number
GREY = "#8c8c8c"
SIZE = (6.4, 4.2)  # inches
LONGEST, LONGEST_NAME = 80, 32  # characters of a text in a picture, and of a name beside an axis or in a legend


def numbers(values: Sequence[float]) -> list[float | None]:
    """Numbers beside a picture: rounded, and none for NaN, which JSON does not know."""
    return [None if isnan(value) else round(float(value), 6) for value in values]


def check_pictures() -> None:
    """Raises:
    InputError: what draws them is not installed.
    """
    if find_spec("matplotlib") is None or find_spec("jinja2") is None:
        raise InputError("pictures need matplotlib and jinja2: pip install 'salience[pictures]'")


def save(draw: Callable, file: Path, size: tuple[float, float] = SIZE, panels: Sequence[int] = (1, 1)) -> None:
    """Writes a picture as PNG and as SVG; the same picture is the same file.

    Args:
        draw: what draws into axes, or into an array of them where there are several panels (rows, columns).
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatter

    with (
        warnings.catch_warnings(),
        rc_context({"text.parse_math": False, "svg.hashsalt": file.name}),
    ):  # labels are no formulas
        warnings.filterwarnings("ignore", "Glyph .* missing")  # drawn as a box, for scripts that the font lacks
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(*panels)
        draw(axes)
        for own in figure.axes:
            own.spines[["top", "right"]].set_visible(False)
            for axis in (own.xaxis, own.yaxis):
                if axis.get_scale() == "log":
                    axis.set_major_formatter(LogFormatter())
                    axis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
        shorten_texts(figure)
        for kind in FORMATS:
            figure.savefig(file.with_suffix(f".{kind}"), dpi=150, metadata={"Date": None} if kind == "svg" else None)


def shorten_texts(figure) -> None:
    """Makes every text of a figure drawable, whatever labels, tags and tokens hold.

    A long text leaves no room for the axes, and XML, in which an SVG is written, knows no control characters.
    """
    from matplotlib.legend import Legend
    from matplotlib.text import Text
    from matplotlib.ticker import FuncFormatter

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            formatter = axis.get_major_formatter()
            if isinstance(formatter, FuncFormatter):  # of named ticks, whose texts are made anew at every drawing
                formatter.func = partial(drawable_tick, formatter.func)
    for legend in figure.findobj(Legend):
        for text in legend.get_texts():
            text.set_text(drawable(text.get_text(), LONGEST_NAME))
    for text in figure.findobj(Text):
        text.set_text(drawable(text.get_text()))


def drawable_tick(named: Callable, value: float, place: int | None) -> str:
    return drawable(named(value, place), LONGEST_NAME)


def drawable(text: str, longest: int = LONGEST) -> str:
    text = printable(text)
    return text if len(text) <= longest else text[: longest - 3] + "..."
