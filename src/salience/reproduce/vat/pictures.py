"""Figures 4 and 5 of VAT (Zhou et al., Findings of ACL 2021) from the runs of `salience reproduce vat`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from salience.report.pictures import COLOURS, GREY, save
from salience.reproduce.vat.report import EXPLANATIONS, grouped

PANELS = {"without": "without K words", "alone": "on K words alone"}


def words_deleted_and_kept(rows: list[dict], folder: Path):
    """A picture for each set and encoder, means over seeds."""
    for (name, encoder), own in grouped(rows).items():
        save(partial(draw_curves, rows=own), folder / f"words-{name}-{encoder}", (9, 4), (1, 2))
        yield f"words-{name}-{encoder}"


def draw_curves(axes, rows: list[dict]) -> None:
    """Base's accuracy without the words of the highest scores, and on these alone, over their number."""
    for panel, (key, told) in zip(axes, PANELS.items(), strict=True):
        for name, colour in zip(EXPLANATIONS, (GREY, *COLOURS), strict=False):
            mean = 100 * np.mean([row["explanations"][name][key] for row in rows], axis=0)
            panel.plot(range(len(mean)), mean, color=colour, label=name)
        panel.set(xlabel="K", ylabel="accuracy of base, percent")
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.set_title(f"{rows[0]['set']}, {rows[0]['encoder']}: {told}", loc="left")
    axes[0].legend(frameon=False)
