"""Pictures as PNG and SVG files, drawn by matplotlib."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from io import StringIO
from math import isnan
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from markupsafe import Markup
from matplotlib import rc_context, rc_params_from_file
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogFormatter

from salience.errors import printable
from salience.explainers.explanation import colour

STYLE = Path(str(files("salience.report").joinpath("pictures.mplstyle")))
LOOK = rc_params_from_file(STYLE, use_default_template=False)
COLOURS = tuple(LOOK["axes.prop_cycle"].by_key()["color"])
GREY, GRID, DARK, LIGHT, WHITE = "#8c8c8c", LOOK["grid.color"], LOOK["text.color"], "#666666", "#ffffff"
BLUE = COLOURS[0]
# What the colours are in a page, which is light or dark: variables of `page.css`.
INKS = {DARK: "ink", LIGHT: "quiet", GRID: "line", WHITE: "paper", BLUE: "accent", "#000000": "ink"}
INK = re.compile("|".join(INKS))
STYLES = ("-", "--", ":", "-.")  # of lines, once the colours are used up
MARKERS = "osD^vP*X"
SIZE = (6.4, 4.2)  # inches
LONGEST, LONGEST_NAME = 80, 32  # characters of a text in a picture, and of a tick label or the name of a line
NAME_HEIGHT = 14  # points from a name of a line to the next one
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
# matplotlib writes no prefix for SVG's own names, and a page knows "xlink:" without a declaration.
REFERENCE = re.compile(r"^(?:url\()?#([^)]*)\)?$")
PLACES, FINE = ("d", "x", "y"), re.compile(r"-?\d+\.\d{3,}")  # attributes with places, in points
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)

# What an SVG shows while the pointer rests on a mark: one text for each point of a line or scatter, one for each cell
# of a map, row by row, or one for a bar or box.
Marks = Line2D | PathCollection | QuadMesh | Patch
HoverTexts = Mapping[Marks, Sequence[str]]


@dataclass(frozen=True)
class Drawing:
    """A picture of a page, as `picture` draws it.

    Attributes:
        draw: draws into axes, or into an array of them if there are several panels; may return texts of its marks.
        size: width and height in inches.
        panels: number of rows and columns.
    """

    draw: Callable[..., HoverTexts | None]
    size: tuple[float, float]
    panels: tuple[int, int] = (1, 1)


@dataclass
class Styles:
    """The styles of all pictures and coloured words of a page, as classes of one style sheet.

    The policy of a page allows no style attributes.
    """

    rules: dict[str, None] = field(default_factory=dict)  # contents of `<style>` elements
    classes: dict[str, str] = field(default_factory=dict)  # declarations -> name of the class

    def class_of(self, declarations: str) -> str:
        """The name of the class that replaces a style attribute."""
        return self.classes.setdefault(declarations, f"svg-{len(self.classes)}")

    def shade(self, strength: float) -> str:
        """The class of the background of a strength from -1, purple, to 1, orange."""
        return self.class_of(f"background: {colour(strength)}")

    def share(self, share: float) -> str:
        """The class of the background of a share of the rows of a label: blue, and red below 0, for its errors."""
        return self.class_of(f"background: rgba({'58,110,217' if share > 0 else '217,71,58'},{abs(share) * 0.75:.2f})")

    def sheet(self) -> str:
        """The style sheet as CSS. The rules come first: a class overrides them, as the style attribute did."""
        classes = (f".{name} {{ {declarations} }}" for declarations, name in self.classes.items())
        return "".join(f"{line}\n" for line in (*self.rules, *classes))


def numbers(values: Iterable[float]) -> list[float | None]:
    """Values for a JSON file: rounded to 6 digits, and None for NaN, which JSON cannot write."""
    return [None if isnan(value) else round(float(value), 6) for value in values]


def save(
    draw: Callable[..., HoverTexts | None], file: Path, size: tuple[float, float] = SIZE,
    panels: tuple[int, int] = (1, 1),
) -> str:  # fmt: skip
    """Writes a picture as PNG and as SVG, and returns the SVG. The same picture is always the same file.

    Args:
        draw, size, panels: as of `Drawing`.
        file: path without suffix.
    """
    with drawn(Drawing(draw, size, panels), file.name) as (figure, texts):
        figure.savefig(file.with_suffix(".png"))
        svg = as_svg(figure, texts)
    file.with_suffix(".svg").write_text(svg, encoding="utf-8")
    return svg


def picture(drawing: Drawing, name: str) -> str:
    """A picture as SVG, without writing a file; its name tells the pictures of one page apart."""
    with drawn(drawing, name) as (figure, texts):
        return as_svg(figure, texts)


@contextmanager
def drawn(drawing: Drawing, name: str) -> Iterator[tuple[Figure, HoverTexts]]:
    """The figure and the texts of its points, in a context in which matplotlib repeats itself.

    It takes texts as plain texts and writes them as texts; the ids in an SVG depend on the name.
    """
    settings: Any = {"svg.hashsalt": name}
    with warnings.catch_warnings(), rc_context(settings, fname=STYLE):
        warnings.filterwarnings("ignore", "Glyph .* missing")  # drawn as a box, for scripts that the font lacks
        figure = Figure(figsize=drawing.size)
        texts = drawing.draw(figure.subplots(*drawing.panels)) or {}
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                if axis.get_scale() == "log":
                    axis.set_major_formatter(LogFormatter())
                    axis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
        shorten_texts(figure)
        yield figure, texts


def as_svg(figure: Figure, texts: HoverTexts) -> str:
    """A figure as SVG, with a `<title>` in each mark that has a text: browsers show it as a tooltip."""
    for number, artist in enumerate(texts):
        artist.set_gid(f"marks-{number}")
    written = StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(written.getvalue())
    groups = {element.get("id"): element for element in root.iter()}
    for number, (artist, titles) in enumerate(texts.items()):
        marks: Iterable[ElementTree.Element] = [groups[f"marks-{number}"]]
        if not isinstance(artist, Patch):
            kind = "path" if isinstance(artist, QuadMesh) else "use"
            marks = groups[f"marks-{number}"].iter(f"{{{SVG}}}{kind}")
        for element, title in zip(marks, visible(artist, titles), strict=True):
            ElementTree.SubElement(element, f"{{{SVG}}}title").text = drawable(title)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def visible(artist: Marks, titles: Sequence[str]) -> list[str]:
    """The texts of the marks that are drawn: matplotlib leaves out points at NaN, and at 0 on a logarithmic axis."""
    axes = artist.axes
    if axes is None or isinstance(artist, Patch | QuadMesh):
        return list(titles)
    points = artist.get_xydata() if isinstance(artist, Line2D) else artist.get_offsets()
    pixels = axes.transData.transform(np.ma.filled(points, np.nan))
    box = axes.bbox.padded(1)
    return [title for title, (x, y) in zip(titles, pixels, strict=True) if box.contains(x, y)]


def legend_beside(axes: Axes) -> None:
    """Draws the legend to the right of the axes, where it covers no point."""
    axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")


def name_lines(axes: Axes) -> None:
    """Writes the name of each line beside its end, in its colour; names that would cover each other move apart.

    The axes have their limits already. Where the names have no room below each other, there is a legend instead.
    """
    lines = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    height = NAME_HEIGHT * axes.figure.dpi / 72 / axes.bbox.height  # of a name, as a part of the axes
    steps = height * np.arange(len(lines))
    if steps[-1] > 1:
        legend_beside(axes)
        return
    ends = []
    for line in lines:
        last = np.asarray(line.get_xydata(), float)[-1]
        place = axes.transAxes.inverted().transform(axes.transData.transform(last))[1]
        ends.append(place if np.isfinite(place) else 0)
    order = np.argsort(ends, kind="stable")
    places = np.maximum.accumulate(np.array(ends)[order] - steps) + steps  # each beside its end, or above the last one
    places = np.minimum(places, 1 - steps[::-1])
    at = dict(zip(order.tolist(), places.tolist(), strict=True))
    for number, line in enumerate(lines):
        axes.annotate(
            drawable(str(line.get_label()), LONGEST_NAME), (1, at[number]), (6, 0), "axes fraction", "offset points",
            color=line.get_color(), fontsize="small", va="center", annotation_clip=False,
        )  # fmt: skip


def shorten_texts(figure: Figure) -> None:
    """Makes every text drawable. A long one leaves no room for the axes, and XML allows no control characters."""
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


def drawable_tick(named: Callable[[float, int | None], str], value: float, position: int | None) -> str:
    return drawable(named(value, position), LONGEST_NAME)


def drawable(text: str, longest: int = LONGEST) -> str:
    """A text without control characters, cut to `longest` characters."""
    text = printable(text)
    return text if len(text) <= longest else text[: longest - 3] + "..."


def inline(svg: str, styles: Styles, description: str) -> Markup:
    """An SVG file of matplotlib as an element of an HTML page, which is described for readers who do not see it.

    Style attributes and `<style>` elements move to `styles`, with the colours of the page. Comments, metadata, and ids
    that nothing refers to are dropped, so that several pictures fit into one page.
    """
    root = ElementTree.fromstring(svg)
    used = {
        match[1] for element in root.iter() for value in element.attrib.values() if (match := REFERENCE.match(value))
    }
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{{{SVG}}}style":
                styles.rules[child.text or ""] = None
            if child.tag in (f"{{{SVG}}}style", f"{{{SVG}}}metadata"):
                parent.remove(child)
        if "style" in parent.attrib:
            inked = INK.sub(lambda found: f"var(--{INKS[found[0]]})", parent.attrib.pop("style"))
            parent.set("class", styles.class_of(inked))
        for name in {*PLACES} & {*parent.attrib}:  # a hundredth of a point is finer than a screen
            parent.set(name, FINE.sub(lambda place: f"{float(place[0]):.2f}", parent.attrib[name]))
        if parent.get("id") not in used:
            parent.attrib.pop("id", None)
    root.set("role", "img")
    root.set("aria-label", description)
    markup = ElementTree.tostring(root, encoding="unicode")
    for declaration in (f' xmlns="{SVG}"', f' xmlns:xlink="{XLINK}"'):  # HTML needs none
        markup = markup.replace(declaration, "", 1)
    return Markup(markup)
