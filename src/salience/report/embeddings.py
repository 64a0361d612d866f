"""Maps of texts, a point for each text (VAT, Findings of ACL 2021, Figures 3 and 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from salience.report.pictures import COLOURS, HoverTexts, Marks, legend_beside

MARKERS = "os^D"  # of classes, once the colours are used up


@dataclass(frozen=True)
class TextMap:
    """The N texts as one model sees them."""

    title: str
    points: np.ndarray  # (N, 2)


def draw_maps(
    axes: Axes | np.ndarray, maps: Sequence[TextMap], gold: np.ndarray, labels: Sequence[str], texts: Sequence[str]
) -> HoverTexts:
    """Draws a map for each model, with a colour for each class and one legend.

    Args:
        axes: as many as there are maps.
        gold: (N,) the class of each text.
        labels: the C labels.
        texts: (N,) what a point shows under the pointer.
    """
    panels = axes.flat if isinstance(axes, np.ndarray) else [axes]
    hover: dict[Marks, list[str]] = {}
    for panel, text_map in zip(panels, maps, strict=True):
        for number, label in enumerate(labels):
            chosen = np.flatnonzero(gold == number).tolist()
            marker, colour = MARKERS[number // len(COLOURS) % len(MARKERS)], COLOURS[number % len(COLOURS)]
            x, y = text_map.points[chosen].T
            points = panel.scatter(x, y, s=10, linewidths=0, marker=marker, color=colour, label=label)
            hover[points] = [texts[index] for index in chosen]
        panel.set(xticks=[], yticks=[], xlabel="t-SNE, first axis", ylabel="t-SNE, second axis")
        panel.set_title(text_map.title, loc="left")
    legend_beside(panel)
    return hover
