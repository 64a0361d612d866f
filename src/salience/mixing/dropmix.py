"""DropMix (Kong, Zhang, Guo, Mensah and Mao, EMNLP 2022): the units that matter most are dropped for the partner's."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from salience.batch import Batch
from salience.explain.gradient import Explainer, gradient_map
from salience.kinds import COUNT, PART, POSITIVE, check_fields
from salience.mixing.interpolation import draw_weights
from salience.mixing.mix import Mix
from salience.mixing.pairing import Pairing, shuffle
from salience.selection import best_patch, part_length


@dataclass(frozen=True)
class DropMix:
    """Replaces a union of (height, width) windows of the embeddings: U (1, 1), C (all, 1), W (n, all), G (n, 1).

    F_ij = (sum of I^2 over the window)^1/2, I = |d loss / d X_A| (section 4.1). The largest prefix of the windows by
    F that covers no more than floor(l N D) units, l ~ Beta(alpha, alpha) for each text, is taken from the partner,
    and its realised part S / (N D) is the partner's part of the label (Eq. 5). N is one's own true length, not the
    128 that the paper pads to, with which a short text loses all its tokens and keeps most of its label.

    `direction`: "replace" drops what matters most (section 1, Eq. 4, Fig. 3); "keep" keeps it and drops all else
    (section 4.1 read to the letter). The label follows either way.
    """

    height: int | None = 1  # rows of a window; None is the whole text
    width: int | None = 1  # columns; None is the whole width
    alpha: float = 0.1
    ratio: float | None = None  # fixes l instead of drawing it
    direction: str = "replace"  # or "keep"
    guide: Explainer = gradient_map
    pair: Pairing = shuffle

    def __post_init__(self):
        window = {"height": COUNT.or_none(), "width": COUNT.or_none()}
        check_fields(self, window | {"alpha": POSITIVE, "ratio": PART.or_none()})
        if self.direction not in ("replace", "keep"):
            raise ValueError(f"direction is 'replace' or 'keep', not {self.direction!r}")

    def __call__(self, batch: Batch, scores: Tensor) -> Mix:
        partner = self.pair(batch)
        own = batch.attention_mask.bool()
        weight = self.ratio
        if weight is None:
            weight = draw_weights(len(batch), self.alpha).to(scores.device)
        units = own.sum(1) * scores.shape[2]
        budget = part_length(units, weight)

        # What overflowed in half precision stays as it is, and so does a row without a token.
        sound = scores.isfinite().flatten(1).all(1) & (units > 0)
        patch = best_patch(scores.nan_to_num(), own, budget, self.height, self.width) & sound[:, None, None]
        part = patch.sum((1, 2)) / units.clamp(min=1)
        if self.direction == "replace":
            return Mix("embeddings", partner, keep=~patch, share=1 - part)
        whole = ~own[..., None] | ~sound[:, None, None]
        return Mix("embeddings", partner, keep=patch | whole, share=part.where(sound, 1))
