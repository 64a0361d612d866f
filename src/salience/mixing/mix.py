"""The one formula: every mixing method of the field is one value of this type.

x~ = keep * x + (1 - keep) * donor            donor = x[partner] unless the method hands over its own
y~ = share * y + (1 - share) * y[partner]     share = how much of one's own label remains
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Dropout:
    """Inverted dropout that is the same whenever it is applied: a Mix is drawn once, and may be computed again."""

    rate: float
    seed: int

    def __call__(self, own: Tensor) -> Tensor:
        """`own` (B, T, D) with a part of its entries at 0, the others grown by 1 / (1 - rate)."""
        batch, tokens, width = own.shape
        generator = torch.Generator().manual_seed(self.seed)
        # Token by token: more padding draws more numbers, not others.
        drawn = torch.rand(tokens, batch, width, generator=generator).transpose(0, 1).to(own.device)
        return own * (drawn >= self.rate) / (1 - self.rate)


@dataclass(frozen=True)
class Mix:
    """What to mix, with whom, and how much of one's own remains.

    `level` is a key of `salience.stages(model)`, "tokens" for the ids themselves, or a float: a part of the model's
    depth, rounded up to a whole layer.
    """

    level: str | int | float
    partner: Tensor  # (B,) long, a permutation of the batch
    keep: Tensor  # broadcasts over the representation; bool, or float in [0, 1]
    share: Tensor  # (B,) float in [0, 1]
    donor: Tensor | None = None  # shaped like the representation
    dropout: Dropout | None = None  # of every text before they meet, while the model is in training

    def blend(self, own: Tensor) -> Tensor:
        """The mixed representation, shaped like `own` (B, T), (B, T, D) or (B, D)."""
        donor = own[self.partner] if self.donor is None else self.donor
        if self.keep.dtype == torch.bool:
            return torch.where(self.keep, own, donor)
        return torch.lerp(donor, own, self.keep.to(own.dtype))

    def targets(self, labels: Tensor, classes: int) -> Tensor:
        """Soft labels (B, C); every row sums to 1."""
        own = F.one_hot(labels, classes).to(self.share.dtype)
        return torch.lerp(own[self.partner], own, self.share[:, None])
