"""DropMix (Kong et al., EMNLP 2022, doi:10.18653/v1/2022.emnlp-main.57): salient units are exchanged."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from salience.batch import Batch
from salience.explainers.explainer import Explainer
from salience.explainers.gradient import gradient_map
from salience.mixing.interpolation import draw_weights
from salience.mixing.method import Method, Pairing, shuffle
from salience.mixing.mix import Mix
from salience.settings import COUNT, FUNCTION, PART, POSITIVE, Kind, check_settings, one_of, setting
from salience.spans import best_patch, part_length

HEIGHT = Kind(
    "a whole number from 1 on, or two between which it is drawn",
    lambda value: (
        COUNT.fits(value)
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

    Sections 1, Eq. 4 and Fig. 3 of the paper replace the most salient windows (`direction="replace"`); section 4.1,
    read literally, keeps them and replaces all else ("keep"). The label follows either way.

    `within` says where windows lie, and so what N is. "own": the tokens of the text; where the partner is shorter, its
    padding enters. "overlap": positions at which both texts have tokens, N still being the length of the text. "both":
    the positions of the longer text; the model then attends to both. "padded": all positions of the padded batch,
    attending to both. This is what the paper describes, which pads to 128 tokens; short texts can then lose all their
    tokens and keep most of their label.
    """

    height: int | tuple[int, int] | None = setting(
        1, HEIGHT.or_none(), "number of tokens in a window; with two numbers, it is drawn between them for each batch",
        "the whole text",
    )  # fmt: skip
    width: int | None = setting(1, COUNT.or_none(), "number of dimensions in a window", "all dimensions")
    alpha: float = setting(0.1, POSITIVE, "parameter of l ~ Beta(alpha, alpha); l is drawn for each text")
    ratio: float | None = setting(None, PART, "fixed value of l", "l is drawn")
    direction: str = setting(
        "replace", one_of("replace", "keep"), "whether the most salient windows are replaced or kept"
    )
    within: str = setting(
        "own", one_of("own", "overlap", "both", "padded"),
        "positions of windows: the text's own, its overlap with the partner, those of both, or the padded batch",
    )  # fmt: skip
    guide: Explainer = setting(gradient_map, FUNCTION, "explainer that scores the units")
    pair: Pairing = setting(shuffle, FUNCTION, "how partners are chosen")

    def __post_init__(self):
        check_settings(self)

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
