"""Pictures of attention by part of speech (AttentionMix, Figures 5 to 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from salience.analysis.parts_of_speech import Meetings
from salience.report.pictures import COLOURS

Head = tuple[int, int | None]  # layer, head; None: the mean over heads


def named(head: Head) -> str:
    return f"layer {head[0]}, " + ("mean of its heads" if head[1] is None else f"head {head[1]}")


def bars(axes, tags: Sequence[str], heads: Mapping[str, Sequence[float]], title: str) -> None:
    """Figures 5 to 7: the mean attention of each part of speech by head, relative to the head's."""
    place, width = np.arange(len(tags)), 0.8 / len(heads)
    for index, (head, heights) in enumerate(heads.items()):
        shift = width * (index - (len(heads) - 1) / 2)
        axes.bar(place + shift, heights, width, color=COLOURS[index % len(COLOURS)], label=head)
    axes.axhline(1, color="black", linewidth=0.6)
    axes.set_xticks(place, tags, rotation=60)
    axes.set_ylabel("attention, relative to the mean")
    axes.set_title(title, loc="left")
    axes.legend(frameon=False)


def meeting_map(axes, met: Meetings, title: str) -> None:
    """What a word keeps of itself where it meets a partner's word, by the parts of speech of both."""
    picture = axes.imshow(met.kept, cmap="RdBu_r", vmin=0, vmax=1)
    axes.set_xticks(range(len(met.tags)), met.tags, rotation=90)
    axes.set_yticks(range(len(met.tags)), met.tags)
    axes.set(xlabel="the partner's word", ylabel="one's own word")
    axes.set_title(f"What a word keeps in AttentionMix's mixtures: {title}", loc="left")
    axes.figure.colorbar(picture, ax=axes, shrink=0.8)
