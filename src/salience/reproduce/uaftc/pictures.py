"""Pictures of Sun and Lu (ACL 2020) from the runs of `salience reproduce`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from salience.report.attention_pictures import by_frequency, weight_boxes
from salience.report.pictures import COLOURS, GREY, save
from salience.reproduce.table_rows import of_the_first_seed, sets_of
from salience.reproduce.uaftc import synthetic, table2

KINDS = dict(zip(synthetic.KINDS, (COLOURS[1], COLOURS[0], GREY), strict=True))


def accuracy_over_scales(rows: list[dict], folder: Path):
    """Sun and Lu's Table 2, a picture a set: lines are ours, the mean over seeds, and crosses the paper's."""
    for name in sets_of(rows):
        save(partial(draw_scales, rows=[row for row in rows if row["set"] == name]), folder / f"scales-{name}")
        yield f"scales-{name}"


def draw_scales(axes, rows: list[dict]) -> None:
    for colour, model in zip(COLOURS, table2.MODELS, strict=False):
        own = [row for row in rows if row["model"] == model]
        scales = sorted({row["scale"] for row in own})
        means = [100 * np.mean([row["accuracy"] for row in own if row["scale"] == scale]) for scale in scales]
        told = [100 * next(row["published"] for row in own if row["scale"] == scale) for scale in scales]
        axes.plot(scales, means, marker="o", color=colour, label=model)
        axes.plot(scales, told, marker="x", linestyle="none", color=colour)
    axes.set(xscale="log", xlabel="scale of attention", ylabel="test accuracy, percent")
    axes.set_title(f"{rows[0]['set']}: ours (lines), the paper's (crosses)", loc="left")
    axes.legend(frameon=False)


def dynamics(rows: list[dict], folder: Path):
    """Sun and Lu's appendix: scores over training in three conditions, and V^T W by the classes' ratio."""
    trained = [name for name in sets_of(rows) if name.startswith("data")]
    if trained:
        save(partial(draw_scores, rows=rows, names=trained), folder / "dynamics", (3.6 * len(trained) + 1, 6),
             (2, len(trained)))  # fmt: skip
        yield "dynamics"
    ratios = [name for name in sets_of(rows) if name.startswith("ratio")]
    if ratios:
        save(partial(draw_coupling, rows=rows, names=[*trained[:1], *ratios]), folder / "coupling")
        yield "coupling"


def draw_scores(axes, rows: list[dict], names: list[str]) -> None:
    """A column a condition: attention scores above, polarity scores below."""
    panels = np.reshape(axes, (2, len(names)))
    for column, name in enumerate(names):
        for own, score in zip(panels[:, column], ("attention", "polarity"), strict=True):
            for kind, colour in KINDS.items():
                epochs, mean = trajectory(rows, name, f"{score} {kind}")
                own.plot(epochs, mean, color=colour, label=kind)
            own.axhline(0, color="black", linewidth=0.6)
            own.set(xlabel="epoch", ylabel=f"mean {score} score")
            own.set_title(name, loc="left")
            if column == 0:
                own.legend(frameon=False)


def draw_coupling(axes, rows: list[dict], names: list[str]) -> None:
    for colour, name in zip(COLOURS, names, strict=False):
        epochs, mean = trajectory(rows, name, "V^T W")
        axes.plot(epochs, mean, color=colour, label="1:1" if name == "data-1" else name.removeprefix("ratio-"))
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xlabel="epoch", ylabel="V^T W")
    axes.set_title("V^T W by the ratio of positive to negative texts", loc="left")
    axes.legend(frameon=False)


def trajectory(rows: list[dict], name: str, value: str) -> tuple[list[int], np.ndarray]:
    """Epochs, and a value's mean over the seeds of a condition."""
    found = [row["trajectory"] for row in rows if row["set"] == name]
    return [look["epoch"] for look in found[0]], np.mean([[look[value] for look in own] for own in found], axis=0)


def word_scores(rows: list[dict], folder: Path):
    """Figures 2 to 5: polarity and attention scores of words by frequency, and their mean weights, first seed."""
    for name, first in of_the_first_seed(rows).items():
        save(partial(draw_words, row=first), folder / f"words-{name}", (13, 4.2), (1, 3))
        yield f"words-{name}"


def draw_words(axes, row: dict) -> None:
    """Polarity scores, attention scores, mean weights."""
    polarity, attention, weights = axes
    names, colours = [], []
    for category, own in row["points"].items():
        neutral = category == "neutral"
        names.append("neutral" if neutral else row["labels"][int(category)])
        colours.append(GREY if neutral else COLOURS[int(category) % len(COLOURS)])
        for panel, score in ((polarity, "polarity"), (attention, "attention")):
            by_frequency(panel, own["frequency"], own[score], names[-1], colours[-1])
            panel.set_ylabel(f"{score} score")
    weight_boxes(weights, [own["weight"] for own in row["points"].values()], names, colours)
    polarity.set_title(f"{row['set']}: words of a class, scale {row['scale']:g}", loc="left")
    polarity.legend(frameon=False)
