"""SSMix (Yoon, Kim and Park, 2021, arXiv:2106.08062): salient spans of the partner replace others."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from salience.batch import Batch
from salience.errors import InputError
from salience.explainers.explainer import Explainer
from salience.explainers.gradient import gradient
from salience.mixing.method import Method, Pairing, swap_halves
from salience.mixing.mix import Mix
from salience.settings import BOOL, FUNCTION, PART, check_settings, setting
from salience.spans import best_span, first_place, part_length, random_places, random_span


@dataclass(frozen=True)
class SSMix(Method):
    """Replaces the least salient span of a text by the most salient span of its partner.

    Both spans have l = max(min(floor(window |x_A|), |x_B|), 1) tokens. The label is
    y~ = (1 - l / |x_A|) y_A + l / |x_A| y_B, as in section 2 and in the published code; lambda in Algorithm 1 must be
    read as 1 - lambda. Special tokens are neither counted nor chosen nor replaced (the published code can copy [CLS]
    or [SEP] into a text). In a pair of texts, each text exchanges with the matching one of the partner.

    The ablations of section 3.3: without a guide, both spans are drawn at random. With `span=False` too, single
    tokens are replaced by those at the same positions of the partner.
    """

    window: float = setting(0.1, PART, "length of the span as a fraction of the text's length, lambda_0 in the paper")
    guide: Explainer | None = setting(
        gradient, FUNCTION.or_none(), "explainer that scores the tokens", "spans or tokens are random"
    )
    span: bool = setting(
        True, BOOL, "whether one span is replaced; false replaces random single tokens (with guide=None)"
    )
    pair: Pairing = setting(swap_halves, FUNCTION, "how partners are chosen")

    def __post_init__(self):
        check_settings(self)
        if self.guide is not None and not self.span:
            raise InputError("span=False draws single tokens at random and needs guide=None")

    def __call__(self, batch: Batch, scores: Tensor | None = None) -> Mix:
        """The mixture of a batch by the saliency `scores` (B, T); `keep` and `donor` are (B, T).

        A pair of texts is not mixed if a score of either is not finite.
        """
        if self.guide is None:
            scores = None
        partner = self.pair(batch)
        finite = torch.ones(len(batch), dtype=torch.bool, device=batch.segment.device)
        if scores is not None:
            finite = scores.isfinite().all(1)  # gradients can overflow in half precision
            finite &= finite[partner]

        position = torch.arange(batch.segment.shape[1], device=batch.segment.device).expand_as(batch.segment)
        source = position  # (B, T) the partner's position from which each position is filled
        replaced = torch.zeros_like(batch.segment, dtype=torch.bool)
        for part in (1, 2):  # the text, and the second text of a pair
            own = batch.segment == part
            theirs = own[partner]
            width = part_length(own.sum(1), self.window).clamp(min=1)
            width = width.minimum(own.sum(1)).minimum(theirs.sum(1)) * finite
            if self.span:
                if scores is None:
                    start, source_start = random_span(own, width), random_span(theirs, width)
                else:
                    start, source_start = best_span(-scores, own, width), best_span(scores[partner], theirs, width)
                inside = (position >= start[:, None]) & (position < (start + width)[:, None])
            else:
                start, source_start = first_place(own), first_place(theirs)
                shorter = torch.minimum(own.sum(1), theirs.sum(1))
                inside = random_places(own & (position < (start + shorter)[:, None]), width)
            source = torch.where(inside, position + (source_start - start)[:, None], source)
            replaced |= inside

        words = (batch.segment > 0).sum(1).clamp(min=1)
        return Mix(
            level="tokens",
            partner=partner,
            keep=~replaced,
            share=1 - replaced.sum(1) / words,
            donor=batch.input_ids[partner].gather(1, source),
            attend="own",
        )
