"""Pictures of which channels of the embeddings matter (DropMix, EMNLP 2022, Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from salience.report.pictures import COLOURS, HoverTexts, Marks


def draw_importance(
    axes: Sequence[Axes], importance: np.ndarray, preference: np.ndarray, labels: Sequence[str]
) -> HoverTexts:
    """Figures 3b and 3c: every channel's importance and preference, a line for each class.

    Args:
        axes: two of them.
        importance: (C, D) the part of the class's texts in which a channel is selected.
        preference: (C, D) the importance for a class minus that for the other classes; it is drawn in falling order.
        labels: the C labels.
    """
    texts: dict[Marks, list[str]] = {}
    for index, label in enumerate(labels):
        style: dict[str, Any] = {
            "color": COLOURS[index % len(COLOURS)], "label": label, "marker": ".", "markersize": 3
        }  # fmt: skip
        (line,) = axes[0].plot(importance[index], linewidth=0.7, **style)
        texts[line] = [
            f"{label}: channel {channel}, in {100 * part:.1f} % of the texts"
            for channel, part in enumerate(importance[index])
        ]
        order = np.argsort(-preference[index], kind="stable")
        (line,) = axes[1].plot(preference[index][order], **style)
        texts[line] = [f"{label}: channel {channel}, preference {preference[index][channel]:.3f}" for channel in order]
    axes[0].set(xlabel="channel", ylabel="part of the class's texts")
    axes[0].set_title("Importance: how often a channel is selected", loc="left")
    axes[1].set(xlabel="rank of the channel", ylabel="importance, minus the other classes'")
    axes[1].set_title("Preference: the channels of each class, the highest first", loc="left")
    axes[1].axhline(0, color="black", linewidth=0.6)
    axes[0].legend(frameon=False)
    return texts


def draw_patches(axes: np.ndarray, tokens: Sequence[str], kept: Mapping[str, np.ndarray]) -> None:
    """Figure 3a: what DropMix replaces of a text (dark), a panel for each shape of window.

    Args:
        axes: as many as there are shapes.
        tokens: the T tokens.
        kept: by the name of the method, the values that are kept, bool (T, D).
    """
    for panel, (name, keep) in zip(axes.flat, kept.items(), strict=True):
        panel.imshow(~keep, aspect="auto", cmap="Greys", interpolation="nearest")
        panel.set_yticks(range(len(tokens)), tokens)
        panel.set(xlabel="channel", ylabel="token")
        panel.set_title(name, loc="left")
