"""TMix (Chen, Yang and Yang, 2020, MixText): texts meet inside the encoder, at a layer drawn anew for every batch."""

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
    """Interpolates the hidden states of one layer; the layers above it read the mixture, under both texts' mask.

    The defaults are the SSMix paper's (section 3.2): alpha 0.2, the larger side, layers 7, 9 and 12 of BERT's 12. A
    whole number in `levels` is that layer, a float a part of the model's depth, rounded up.
    """

    levels: tuple[int | float | str, ...] = (7 / 12, 9 / 12, 12 / 12)
    largest: bool = True
    pair: Pairing = swap_halves

    def __post_init__(self):
        super().__post_init__()
        check_fields(self, {"levels": LEVELS})

    def meeting(self) -> str | int | float:
        return self.levels[int(torch.randint(len(self.levels), ()))]
