"""Pictures of a sweep over the heads of a model: what training by each gives, beside how well it agrees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from salience.report.pictures import HoverTexts, Marks


def draw_maps(panels: Sequence[Axes], accuracies: np.ndarray, agreements: np.ndarray, title: str) -> HoverTexts:
    """Draws two maps with a line for each layer and a column for each head.

    Args:
        panels: two.
        accuracies: in percent, (L, H); NaN where a head was not trained by.
        agreements: (L, H), from -1 to 1.
        title: of the set.
    """
    texts: dict[Marks, list[str]] = {}
    shown = ((accuracies, "accuracy of a training by the head, %", "{:.1f} %"),
             (agreements, "agreement of the head with the gradient", "{:+.2f}"))  # fmt: skip
    for panel, (values, name, form) in zip(panels, shown, strict=True):
        mesh = panel.pcolormesh(np.ma.masked_invalid(values), cmap="viridis", edgecolors="white", linewidth=0.5)
        panel.figure.colorbar(mesh, ax=panel)
        panel.set_title(f"{title}: {name}", fontsize=9)
        panel.set_xticks(np.arange(values.shape[1]) + 0.5, [str(head) for head in range(values.shape[1])])
        panel.set_yticks(np.arange(values.shape[0]) + 0.5, [str(layer) for layer in range(values.shape[0])])
        panel.set_xlabel("head")
        panel.set_ylabel("layer")
        panel.invert_yaxis()
        texts[mesh] = [
            f"head {head} of layer {layer}: {form.format(value)}" for (layer, head), value in np.ndenumerate(values)
        ]
    return texts
