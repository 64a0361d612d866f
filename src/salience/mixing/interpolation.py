"""Mixup with one weight for texts and labels (Zhang et al., 2018, arXiv:1710.09412); the other files choose the level.

x~ = l x_A + (1 - l) x_B        y~ = l y_A + (1 - l) y_B        l ~ Beta(alpha, alpha)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from salience.batch import Batch
from salience.mixing.method import Method
from salience.mixing.mix import Mix
from salience.mixing.pairing import Pairing, shuffle
from salience.settings import BOOL, FUNCTION, PART, POSITIVE, check_settings, setting


@dataclass(frozen=True)
class Interpolation(Method):
    """Interpolates representations and labels with the same weight l.

    Raises:
        InputError: a field has a value that it does not take.
    """

    alpha: float = setting(
        0.2, POSITIVE, "parameter of l ~ Beta(alpha, alpha); small values keep mixtures close to one text"
    )
    largest: bool = setting(False, BOOL, "whether max(l, 1 - l) is used, so that texts keep the larger weight")
    ratio: float | None = setting(None, PART, "fixed value of l", "l is drawn")
    # Papers do not specify it; published code draws one l for a batch.
    per_example: bool = setting(False, BOOL, "whether l is drawn for each text instead of for each batch")
    pair: Pairing = setting(shuffle, FUNCTION, "how partners are chosen")

    level: ClassVar[str | int | float]  # where texts meet; set by subclasses

    def __post_init__(self):
        check_settings(self)

    def __call__(self, batch: Batch, scores: None = None) -> Mix:
        """The interpolation of a batch: `keep` is (B, 1, 1), or (B, 1) for sentence vectors, and equal to `share`."""
        level = self.draw_level()
        share = draw_weights(len(batch), self.alpha, self.largest, self.ratio, self.per_example)
        share = share.to(batch.input_ids.device)
        keep = share[:, None] if level == "sentence" else share[:, None, None]  # for (B, D) or (B, T, D)
        return Mix(level, self.pair(batch), keep=keep, share=share, attend="both")

    def draw_level(self) -> str | int | float:
        """The level at which the texts of this batch meet."""
        return self.level


def draw_weights(
    count: int, alpha: float, largest: bool = False, ratio: float | None = None, per_example: bool = True
) -> Tensor:
    """Mixup weights l ~ Beta(alpha, alpha) for `count` texts: (count,) float in [0, 1], on the CPU.

    Args:
        largest: return max(l, 1 - l).
        ratio: return this value for every text instead.
        per_example: draw one l for each text; otherwise one for all of them.
    """
    # Drawn on the CPU, so that a seed gives the same weights on every device.
    if ratio is not None:
        return torch.full((count,), float(ratio))
    drawn = torch.distributions.Beta(alpha, alpha).sample((count if per_example else 1,)).expand(count)
    return torch.maximum(drawn, 1 - drawn) if largest else drawn
