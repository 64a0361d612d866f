"""Pictures of what `salience reproduce` has found."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from salience.errors import InputError, listed
from salience.report.pictures import COLOURS, GREY, save
from salience.report.pos_report import bars, named
from salience.study import uaftc_synthetic, uaftc_table2
from salience.study.attentionmix_figures import TAGS

KINDS = dict(zip(uaftc_synthetic.KINDS, (COLOURS[1], COLOURS[0], GREY), strict=True))


def check_table(table: str) -> None:
    """Raises:
    InputError: a table has no pictures.
    """
    if table not in PICTURES:
        raise InputError(f"--pictures: {table} has none; these tables have some: {listed(PICTURES)}")


def draw_table(table: str, rows: list[dict], folder: Path) -> list[str]:
    """Writes the pictures of a table, of the runs that there are, as PNG and SVG; gives their names."""
    return list(PICTURES[table](rows, folder))


def accuracy_over_scales(rows: list[dict], folder: Path):
    """Sun and Lu's Table 2, a picture a set: lines are ours, the mean over seeds, and crosses the paper's."""
    for name in sets_of(rows):
        save(partial(draw_scales, rows=[row for row in rows if row["set"] == name]), folder / f"scales-{name}")
        yield f"scales-{name}"


def draw_scales(axes, rows: list[dict]) -> None:
    for colour, model in zip(COLOURS, uaftc_table2.MODELS, strict=False):
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


def parts_of_speech(rows: list[dict], folder: Path):
    """Figures 5 to 7 of AttentionMix: the two heads of each set that agree most with the gradient, first seed."""
    for name in sets_of(rows):
        first = min((row for row in rows if row["set"] == name), key=lambda row: row["seed"])
        save(partial(draw_heads, row=first), folder / f"pos-{name}")
        yield f"pos-{name}"


def draw_heads(axes, row: dict) -> None:
    heads = {
        named((layer, head)): [row["relative"][layer][head].get(tag, np.nan) for tag in TAGS]
        for layer, head in row["agreeing"]
    }
    bars(axes, TAGS, heads, f"{row['set']}: attention by part of speech")


def sets_of(rows: list[dict]) -> list[str]:
    return list(dict.fromkeys(row["set"] for row in rows))


PICTURES: dict[str, Callable] = {
    "uaftc-table2": accuracy_over_scales,
    "uaftc-synthetic": dynamics,
    "attentionmix-figures": parts_of_speech,
}
