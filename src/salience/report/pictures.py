"""Drawing a picture into files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from math import isnan
from pathlib import Path

from salience.errors import InputError

FORMATS = ("png", "svg")
COLOURS = ("#c44e52", "#4c72b0", "#55a868", "#8172b3", "#ccb974", "#64b5cd", "#937860", "#da8bc3")  # by number
GREY = "#8c8c8c"
SIZE = (6.4, 4.2)  # inches


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

    with rc_context({"text.parse_math": False, "svg.hashsalt": file.name}):  # labels are no formulas
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(*panels)
        draw(axes)
        for own in figure.axes:
            own.spines[["top", "right"]].set_visible(False)
            for axis in (own.xaxis, own.yaxis):
                if axis.get_scale() == "log":
                    axis.set_major_formatter(LogFormatter())
                    axis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
        for kind in FORMATS:
            figure.savefig(file.with_suffix(f".{kind}"), dpi=150, metadata={"Date": None} if kind == "svg" else None)
