"""What the interpolating methods share: x~ = l x_A + (1 - l) x_B and y~ = l y_A + (1 - l) y_B, l ~ Beta(alpha, alpha).

Mixup (Zhang et al., 2018). The methods differ in the level at which texts meet, and in what their papers set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from salience.batch import Batch
from salience.mixing.mix import Mix
from salience.mixing.pairing import Pairing, shuffle
from salience.settings import BOOL, PART, POSITIVE, check_fields


@dataclass(frozen=True)
class Interpolation:
    """One weight for texts and labels alike, drawn for the whole batch or for each of its texts."""

    alpha: float = 0.2
    largest: bool = False  # l := max(l, 1 - l), so that one's own text prevails
    ratio: float | None = None  # fixes l instead of drawing it
    per_example: bool = False  # published code draws one l for a batch; papers do not say
    pair: Pairing = shuffle

    guide = None
    level: ClassVar[str | int | float]

    def __post_init__(self):
        drawn = {"alpha": POSITIVE, "largest": BOOL, "ratio": PART.or_none(), "per_example": BOOL}
        check_fields(self, drawn)

    def __call__(self, batch: Batch, scores: None = None) -> Mix:
        level = self.meeting()
        share = draw_weights(len(batch), self.alpha, self.largest, self.ratio, self.per_example)
        share = share.to(batch.input_ids.device)
        width = share[:, None] if level == "sentence" else share[:, None, None]  # (B, D) or (B, T, D)
        return Mix(level, self.pair(batch), keep=width, share=share)

    def meeting(self) -> str | int | float:
        """The level of this batch."""
        return self.level


def draw_weights(
    count: int, alpha: float, largest: bool = False, ratio: float | None = None, per_example: bool = True
) -> Tensor:
    """l ~ Beta(alpha, alpha) for each of `count` texts (B,): `ratio` fixes it, `largest` takes max(l, 1 - l).

    Drawn on the CPU, so that a seed gives the same weights on every device.
    """
    if ratio is not None:
        return torch.full((count,), float(ratio))
    drawn = torch.distributions.Beta(alpha, alpha).sample((count if per_example else 1,)).expand(count)
    return torch.maximum(drawn, 1 - drawn) if largest else drawn
