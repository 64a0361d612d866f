"""TMix (Chen, Yang and Yang, 2020, MixText, arXiv:2004.12239): Mixup of hidden states at a random layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from salience.mixing.interpolation import Interpolation
from salience.mixing.pairing import Pairing, swap_halves
from salience.settings import LEVEL, Kind, check_fields

LEVELS = Kind(
    f"one or more in a list: {LEVEL.words}",
    lambda value: isinstance(value, tuple) and len(value) > 0 and all(map(LEVEL.fits, value)),
)


@dataclass(frozen=True)
class TMix(Interpolation):
    """Interpolates the hidden states of one layer, which is drawn for every batch. Later layers attend to both texts.

    The defaults are those of the SSMix paper (section 3.2): alpha 0.2, the larger side, layers 7, 9 and 12 of BERT's
    12.

    Attributes:
        levels: the levels to draw from. An integer is a layer, a float a fraction of the model's depth, rounded up.
    """

    levels: tuple[int | float | str, ...] = (7 / 12, 9 / 12, 12 / 12)
    largest: bool = True
    pair: Pairing = swap_halves

    def __post_init__(self):
        super().__post_init__()
        check_fields(self, {"levels": LEVELS})

    def draw_level(self) -> str | int | float:
        """One of `levels`, all equally likely."""
        return self.levels[int(torch.randint(len(self.levels), ()))]
