"""Attention by part of speech as a table and as pictures (Lewy and Mańdziuk, 2023, AttentionMix, Figures 5 to 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from rich.table import Table

from salience.analysis.parts_of_speech import ByTag, Meetings
from salience.report.pictures import COLOURS, HoverTexts, Marks
from salience.report.terminal import literal, titled

Head = tuple[int, int | None]  # layer and head; None is the mean over the layer's heads


def named(head: Head) -> str:
    """What a head is called: "layer 0, head 8"."""
    return f"layer {head[0]}, " + ("mean of its heads" if head[1] is None else f"head {head[1]}")


def head_table(by_head: Mapping[Head, ByTag], title: str) -> Table:
    """Attention relative to each head's mean, a row for each part of speech, the first head's highest first."""
    table = titled(title)
    table.add_column("tag")
    table.add_column("count", justify="right")
    for head in by_head:
        table.add_column(named(head), justify="right")
    first = next(iter(by_head.values()))
    for index in np.argsort(-first.relative):
        cells = (f"{by_tag.relative[index]:.2f}" for by_tag in by_head.values())
        table.add_row(literal(first.tags[index]), str(first.count[index]), *cells)
    return table


def bars(axes: Axes, tags: Sequence[str], heads: Mapping[str, Sequence[float] | np.ndarray], title: str) -> HoverTexts:
    """Figures 5 to 7: a bar for each part of speech and head, and the texts of the bars.

    Args:
        tags: the G parts of speech.
        heads: by name, the mean attention to each part of speech (G,) relative to the head's overall mean.
    """
    texts: dict[Marks, list[str]] = {}
    positions, width = np.arange(len(tags)), 0.8 / len(heads)
    for index, (head, heights) in enumerate(heads.items()):
        shift = width * (index - (len(heads) - 1) / 2)
        drawn = axes.bar(positions + shift, heights, width, color=COLOURS[index % len(COLOURS)], label=head)
        for bar, tag, height in zip(drawn, tags, heights, strict=True):
            texts[bar] = [f"{tag}, {head}: {height:.2f} times the mean"]
    axes.axhline(1, color="black", linewidth=0.6)
    axes.set_xticks(positions, tags, rotation=60)
    axes.set(xlabel="part of speech", ylabel="attention, relative to the mean")
    axes.set_title(title, loc="left")
    axes.legend(frameon=False)
    return texts


def meeting_map(axes: Axes, met: Meetings, title: str) -> HoverTexts:
    """What a word keeps of itself where it is mixed with a partner's word, by the parts of speech of both."""
    tags, positions = met.tags, range(len(met.tags))
    cells = axes.pcolormesh(positions, positions, met.kept, cmap="RdBu_r", vmin=0, vmax=1)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.set_xticks(positions, tags, rotation=90)
    axes.set_yticks(positions, tags)
    axes.set(xlabel="the partner's word", ylabel="one's own word")
    axes.set_title(f"What a word keeps in AttentionMix's mixtures: {title}", loc="left")
    axes.figure.colorbar(cells, ax=axes, shrink=0.8, label="part that is kept")
    return {
        cells: [
            f"{tag} mixed with {partner}: " + ("never met" if np.isnan(kept) else f"keeps {kept:.2f}")
            for tag, row in zip(tags, met.kept, strict=True)
            for partner, kept in zip(tags, row, strict=True)
        ]
    }
