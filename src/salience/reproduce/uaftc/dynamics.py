"""Sun and Lu (ACL 2020), appendix D to F: pictures of scores and of V^T W over training."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from salience.report.pictures import COLOURS, GREY, save
from salience.reproduce.table import Row, sets_of

KINDS = ("positive", "negative", "neutral")  # of words
KIND_COLOURS = dict(zip(KINDS, (COLOURS[1], COLOURS[0], GREY), strict=True))


def pictures(rows: list[Row], folder: Path) -> Iterator[str]:
    """Scores over training in the three conditions of Data I and II, and V^T W by the ratio of the classes."""
    trained = [name for name in sets_of(rows) if name.startswith("data")]
    if trained:
        save(partial(draw_scores, rows=rows, names=trained), folder / "dynamics", (3.6 * len(trained) + 1, 6),
             (2, len(trained)))  # fmt: skip
        yield "dynamics"
    ratios = [name for name in sets_of(rows) if name.startswith("ratio")]
    if ratios:
        save(partial(draw_coupling, rows=rows, names=[*trained[:1], *ratios]), folder / "coupling")
        yield "coupling"


def draw_scores(axes, rows: list[Row], names: list[str]) -> None:
    """Draws a column for each condition: attention scores above, polarity scores below."""
    panels = np.reshape(axes, (2, len(names)))
    for column, name in enumerate(names):
        for panel, score in zip(panels[:, column], ("attention", "polarity"), strict=True):
            for kind, colour in KIND_COLOURS.items():
                epochs, mean = _trajectory(rows, name, f"{score} {kind}")
                panel.plot(epochs, mean, color=colour, label=kind)
            panel.axhline(0, color="black", linewidth=0.6)
            panel.set(xlabel="epoch", ylabel=f"mean {score} score")
            panel.set_title(name, loc="left")
            if column == 0:
                panel.legend(frameon=False)


def draw_coupling(axes, rows: list[Row], names: list[str]) -> None:
    """Draws V^T W over the epochs, a line for each condition."""
    for colour, name in zip(COLOURS, names, strict=False):
        epochs, mean = _trajectory(rows, name, "V^T W")
        axes.plot(epochs, mean, color=colour, label="1:1" if name == "data-1" else name.removeprefix("ratio-"))
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xlabel="epoch", ylabel="V^T W")
    axes.set_title("V^T W by the ratio of positive to negative texts", loc="left")
    axes.legend(frameon=False)


def _trajectory(rows: list[Row], name: str, value: str) -> tuple[list[int], np.ndarray]:
    """The measured epochs, and a value's mean over the seeds of a condition (epochs,)."""
    trajectories = [row["trajectory"] for row in rows if row["set"] == name]
    epochs = [measured["epoch"] for measured in trajectories[0]]
    return epochs, np.mean([[measured[value] for measured in one] for one in trajectories], axis=0)
