"""DropMix (Kong, Zhang, Guo, Mensah and Mao, EMNLP 2022): the units that matter most are dropped for the partner's."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from salience.batch import Batch
from salience.explainers.gradient import Explainer, gradient_map
from salience.mixing.interpolation import draw_weights
from salience.mixing.mix import Mix
from salience.mixing.pairing import Pairing, shuffle
from salience.settings import COUNT, PART, POSITIVE, Kind, check_fields, shown
from salience.spans import best_patch, part_length

HEIGHT = Kind(
    "a whole number from 1 on, null, or the two between which it is drawn",
    lambda value: (
        COUNT.or_none().fits(value)
        or (isinstance(value, tuple) and len(value) == 2 and all(map(COUNT.fits, value)) and value[0] <= value[1])
    ),
)


@dataclass(frozen=True)
class DropMix:
    """Replaces a union of (height, width) windows of the embeddings: U (1, 1), C (all, 1), W (n, all), G (n, 1).

    F_ij = (sum of I^2 over the window)^1/2, I = |d loss / d X_A| (section 4.1). The largest prefix of the windows by
    F that covers no more than floor(l N D) units, l ~ Beta(alpha, alpha) for each text, is taken from the partner,
    and its realised part S / (N D) is the partner's part of the label (Eq. 5).

    `within`: N and the windows are those of one's "own" text; past the end of a shorter partner its padding enters. Or
    windows lie where both texts "overlap", N being one's own; or N and windows are those of the longer of "both", and
    both are attended to; or of the "padded" batch, as in the paper, which pads to 128 and says no more: a short text
    loses all its tokens then, and keeps most of its label.

    `direction`: "replace" drops what matters most (section 1, Eq. 4, Fig. 3); "keep" keeps it and drops all else
    (section 4.1 read to the letter). The label follows either way.
    """

    height: int | tuple[int, int] | None = 1  # rows of a window; None: the whole text; two: drawn for every batch
    width: int | None = 1  # columns; None is the whole width
    alpha: float = 0.1
    ratio: float | None = None  # fixes l instead of drawing it
    direction: str = "replace"  # or "keep"
    within: str = "own"  # or "overlap", "both", "padded"
    guide: Explainer = gradient_map
    pair: Pairing = shuffle

    def __post_init__(self):
        window = {"height": HEIGHT, "width": COUNT.or_none()}
        check_fields(self, window | {"alpha": POSITIVE, "ratio": PART.or_none()})
        if self.direction not in ("replace", "keep"):
            raise ValueError(f"direction is 'replace' or 'keep', not {shown(self.direction)}")
        if self.within not in ("own", "overlap", "both", "padded"):
            raise ValueError(f"within is 'own', 'overlap', 'both' or 'padded', not {shown(self.within)}")

    def __call__(self, batch: Batch, scores: Tensor) -> Mix:
        """The mixture of a batch by the gradient (B, T, D) of its embeddings.

        Raises:
            ValueError: a window is wider than D. It is not cut as one that is taller than its text is: texts differ
                in length, but D is the model's, so `width` was meant for another model, or None for all columns.
        """
        if self.width is not None and self.width > scores.shape[2]:
            raise ValueError(
                f"width={self.width} is wider than the representation, whose width is {scores.shape[2]}: give at most "
                "that, or None for all of it"
            )
        partner = self.pair(batch)
        own = batch.attention_mask.bool()
        theirs = own[partner]
        reach = {"own": own, "overlap": own & theirs, "both": own | theirs, "padded": own.new_ones(own.shape)}
        inside = reach[self.within]
        counted = own if self.within == "overlap" else inside  # the N tokens
        weight = self.ratio
        if weight is None:
            weight = draw_weights(len(batch), self.alpha).to(scores.device)
        units = counted.sum(1) * scores.shape[2]
        budget = part_length(units, weight)

        saliency = scores.nan_to_num().masked_fill(~own[..., None], 0)
        height = self.height
        if isinstance(height, tuple):  # the paper: "n in [2, 32]"
            height = int(torch.randint(height[0], height[1] + 1, ()))
        keep = best_patch(saliency, inside, budget, height, self.width)
        if self.direction == "replace":
            keep = ~keep
        # What overflowed in half precision stays as it is, and so does a row without a token.
        sound = scores.isfinite().flatten(1).all(1) & (units > 0)
        keep = keep | ~inside[..., None] | ~sound[:, None, None]
        share = (keep & counted[..., None]).sum((1, 2)) / units.clamp(min=1)
        if self.within in ("both", "padded"):
            keep = keep.to(scores.dtype)  # as numbers: both texts are attended to
        return Mix("embeddings", partner, keep=keep, share=share.where(sound, 1))
