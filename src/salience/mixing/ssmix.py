"""SSMix (Yoon, Kim and Park, 2021): the span that matters least gives way to the partner's span that matters most."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from salience.batch import Batch
from salience.explainers.gradient import Explainer, gradient
from salience.mixing.mix import Mix
from salience.mixing.pairing import Pairing, swap_halves
from salience.settings import BOOL, PART, check_fields
from salience.spans import best_span, first_place, part_length, random_places, random_span


@dataclass(frozen=True)
class SSMix:
    """Replaces tokens by as many of the partner's; each text of a pair by the matching text of the partner.

    l = max(min(floor(window |x_A|), |x_B|), 1) tokens change hands, and y~ = (1 - l/|x_A|) y_A + l/|x_A| y_B: the
    text of section 2 and the published code against Algorithm 1, whose lambda must be read as 1 - lambda. Special
    tokens are not counted, never chosen and never replaced (the code can paste [CLS] or [SEP] into a text).

    The paper's ablations (section 3.3): without a guide both spans are drawn at random; without spans either, single
    tokens give way to the partner's in the same place.
    """

    window: float = 0.1  # lambda_0, the span's length as a part of one's own text
    guide: Explainer | None = gradient  # |d loss / d embedding|_2, from the clean training pass
    span: bool = True  # False: l scattered places; needs guide=None
    pair: Pairing = swap_halves

    def __post_init__(self):
        check_fields(self, {"window": PART, "span": BOOL})
        if self.guide is not None and not self.span:
            raise ValueError("scattered tokens are drawn at random: span=False needs guide=None")

    def __call__(self, batch: Batch, scores: Tensor | None = None) -> Mix:
        if self.guide is None:
            scores = None
        partner = self.pair(batch)
        sound = torch.ones(len(batch), dtype=torch.bool, device=batch.segment.device)
        if scores is not None:
            # A gradient that overflowed in half precision points nowhere: such a pair stays unmixed.
            sound = scores.isfinite().all(1)
            sound &= sound[partner]

        place = torch.arange(batch.segment.shape[1], device=batch.segment.device).expand_as(batch.segment)
        source = place  # (B, T) where in the partner each place is filled from
        taken = torch.zeros_like(batch.segment, dtype=torch.bool)
        for part in (1, 2):  # the text, and the second text of a pair
            own = batch.segment == part
            theirs = own[partner]
            width = part_length(own.sum(1), self.window).clamp(min=1)
            width = width.minimum(own.sum(1)).minimum(theirs.sum(1)) * sound
            if self.span:
                if scores is None:
                    here, there = random_span(own, width), random_span(theirs, width)
                else:
                    here, there = best_span(-scores, own, width), best_span(scores[partner], theirs, width)
                inside = (place >= here[:, None]) & (place < (here + width)[:, None])
            else:
                here, there = first_place(own), first_place(theirs)
                shorter = torch.minimum(own.sum(1), theirs.sum(1))
                inside = random_places(own & (place < (here + shorter)[:, None]), width)
            source = torch.where(inside, place + (there - here)[:, None], source)
            taken |= inside

        words = (batch.segment > 0).sum(1).clamp(min=1)
        return Mix(
            level="tokens",
            partner=partner,
            keep=~taken,
            share=1 - taken.sum(1) / words,
            donor=batch.input_ids[partner].gather(1, source),
        )
