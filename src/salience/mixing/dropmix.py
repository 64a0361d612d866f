"""DropMix (Kong et al., EMNLP 2022, doi:10.18653/v1/2022.emnlp-main.57): salient units are exchanged."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from salience.batch import Batch
from salience.explainers.explainer import Explainer
from salience.explainers.gradient import gradient_map
from salience.mixing.interpolation import draw_weights
from salience.mixing.method import Method
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
class DropMix(Method):
    """Replaces a union of windows of the (N, D) matrix of embeddings.

    The paper's shapes are (height, width) = (1, 1) for U, (None, 1) for C, (n, None) for W and (n, 1) for G. A window
    scores F_ij = (sum of I^2 over the window)^1/2, I = |d loss / d X_A| (section 4.1). The windows of highest F that
    together cover at most floor(l N D) units are taken from the partner, with l ~ Beta(alpha, alpha) for each text.
    The fraction of units that is really replaced, S / (N D), is the partner's share of the label (Eq. 5).

    Attributes:
        height: rows (tokens) of a window; None for the whole text; a tuple (low, high) to draw it for every batch.
        width: columns (dimensions) of a window; None for all of them.
        alpha: parameter of the Beta distribution, above 0.
        ratio: a fixed l in [0, 1]; None to draw it.
        direction: "replace" replaces the most salient windows (section 1, Eq. 4, Fig. 3); "keep" keeps them and
            replaces all else (section 4.1 read literally). The label follows either way.
        within: where the windows lie, and what N is. "own": the tokens of one's own text; where the partner is
            shorter, its padding enters. "overlap": positions at which both texts have tokens, N still being one's own
            length. "both": the positions of the longer text; the model then attends to both. "padded": all positions
            of the padded batch, attending to both. The last is what the paper describes, which pads to 128 tokens;
            short texts can then lose all their tokens and keep most of their label.
        guide: scores (B, T, D); the default is the absolute gradient of the loss at the embeddings.
        pair: who is mixed with whom.

    Raises:
        ValueError: a field has a value that it does not take.
    """

    height: int | tuple[int, int] | None = 1
    width: int | None = 1
    alpha: float = 0.1
    ratio: float | None = None
    direction: str = "replace"
    within: str = "own"
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
        """The mixture of a batch by the saliency `scores` (B, T, D) of its embeddings; `keep` is (B, T, D).

        A window taller than its text is cut to the text. A text is not mixed if one of its scores is not finite.

        Raises:
            ValueError: a window is wider than D.
        """
        if self.width is not None and self.width > scores.shape[2]:
            raise ValueError(
                f"width={self.width} is wider than the representation, whose width is {scores.shape[2]}: give at most "
                "that, or None for all of it"
            )
        partner = self.pair(batch)
        own = batch.attention_mask.bool()
        theirs = own[partner]
        positions = {"own": own, "overlap": own & theirs, "both": own | theirs, "padded": own.new_ones(own.shape)}
        inside = positions[self.within]
        counted = own if self.within == "overlap" else inside  # the N tokens
        weight: float | Tensor | None = self.ratio
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
        # Gradients can overflow in half precision; such texts stay as they are, and so do empty ones.
        mixable = scores.isfinite().flatten(1).all(1) & (units > 0)
        keep = keep | ~inside[..., None] | ~mixable[:, None, None]
        share = (keep & counted[..., None]).sum((1, 2)) / units.clamp(min=1)
        attend = "both" if self.within in ("both", "padded") else "own"
        return Mix("embeddings", partner, keep=keep, share=share.where(mixable, 1), attend=attend)
