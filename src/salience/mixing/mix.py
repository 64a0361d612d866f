"""The value that every mixing method returns: which texts are mixed, where, and with which labels.

    x~ = keep * x + (1 - keep) * donor            donor = x[partner], unless the method provides its own
    y~ = share * y + (1 - share) * y[partner]

This is Mixup (Zhang et al., 2018, arXiv:1710.09412) with a weight for each position or unit in place of one scalar.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from salience.settings import PART, Kind, is_whole, shown

LEVEL = Kind(  # of representations that are interpolated, which ids of tokens cannot be
    "the name of a level above the tokens, a layer's number, or a fraction of the depth from 0 to 1",
    lambda value: (isinstance(value, str) and value != "tokens") or is_whole(value) or PART.fits(value),
)


@dataclass(frozen=True)
class Dropout:
    """Inverted dropout of rate `rate` with a fixed seed: twice on one representation, it gives the same result."""

    rate: float
    seed: int

    def __call__(self, own: Tensor) -> Tensor:
        batch, tokens, width = own.shape
        generator = torch.Generator().manual_seed(self.seed)
        # Drawn token by token, so that more padding adds draws at the end and does not change those of the text.
        drawn = torch.rand(tokens, batch, width, generator=generator).transpose(0, 1).to(own.device)
        return own * (drawn >= self.rate) / (1 - self.rate)


@dataclass(frozen=True)
class Mix:
    """How the texts of one batch are mixed.

    Attributes:
        level: where texts meet: a key of `salience.stages(model)`, "tokens" for the token ids, or a float in [0, 1],
            a fraction of the model's depth that is rounded up to a whole layer.
        partner: (B,) long, the partner of each text; a permutation of the batch.
        keep: the part of one's own representation that remains. It broadcasts over the representation; bool (a unit
            is kept or replaced) or float in [0, 1] (units are interpolated).
        share: (B,) float in [0, 1], the part of one's own label that remains.
        donor: what `keep` leaves room for, shaped like the representation; None for the partner's representation.
        dropout: applied to all texts before they are mixed, while the model is in training mode.
        attend: whose tokens the layers after `level` attend to. "own": the text's own, for methods that replace parts
            of a text in place; "both": its own and the partner's, for mixtures that are as long as the longer text.
            None stands for "own" with a bool `keep` and "both" with a float one; the field then holds the result.
            It has no effect at "tokens", where ids are replaced in place, and at "sentence", where no tokens are left.

    Raises:
        ValueError: `attend` is something else.
    """

    level: str | int | float
    partner: Tensor
    keep: Tensor
    share: Tensor
    donor: Tensor | None = None
    dropout: Dropout | None = None
    attend: str | None = None

    def __post_init__(self):
        if self.attend is None:
            object.__setattr__(self, "attend", "own" if self.keep.dtype == torch.bool else "both")
        if self.attend not in ("own", "both"):
            raise ValueError(f"attend is 'own', 'both' or None, not {shown(self.attend)}")

    def blend(self, own: Tensor) -> Tensor:
        """The mixed representation x~, shaped like `own`: token ids (B, T), states (B, T, D) or vectors (B, D)."""
        donor = own[self.partner] if self.donor is None else self.donor
        if self.keep.dtype == torch.bool:
            return torch.where(self.keep, own, donor)
        return torch.lerp(donor, own, self.keep.to(own.dtype))

    def targets(self, labels: Tensor, classes: int) -> Tensor:
        """The soft labels y~ (B, C), of class numbers (B,), or of 0 and 1 (B, C) for multi-label texts."""
        own = (F.one_hot(labels, classes) if labels.dim() == 1 else labels).to(self.share.dtype)
        return torch.lerp(own[self.partner], own, self.share[:, None])
