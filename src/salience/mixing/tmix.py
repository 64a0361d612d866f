"""TMix (Chen, Yang and Yang, 2020, MixText, arXiv:2004.12239): Mixup of hidden states at a random layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from salience.mixing.interpolation import Interpolation
from salience.mixing.mix import LEVEL
from salience.mixing.pairing import Pairing, swap_halves
from salience.settings import Kind, setting

LEVELS = Kind(
    "a list of levels above the tokens: names, layer numbers, or fractions of the depth from 0 to 1",
    lambda value: isinstance(value, tuple) and len(value) > 0 and all(map(LEVEL.fits, value)),
)


@dataclass(frozen=True)
class TMix(Interpolation):
    """Interpolates the hidden states of one layer, which is drawn for every batch. Later layers attend to both texts.

    The defaults are those of the SSMix paper (section 3.2): alpha 0.2, the larger side, layers 7, 9 and 12 of BERT's
    12.
    """

    levels: tuple[int | float | str, ...] = setting(
        (7 / 12, 9 / 12, 12 / 12), LEVELS, "levels from which one is drawn for each batch; fractions of the depth are "
        "rounded up to a layer",
    )  # fmt: skip
    largest: bool = True
    pair: Pairing = swap_halves

    def draw_level(self) -> str | int | float:
        """One of `levels`, all equally likely."""
        return self.levels[int(torch.randint(len(self.levels), ()))]
