"""Pairs of texts explained one text at a time, as in the published code of SSMix (Yoon et al., arXiv:2106.08062)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.explainer import Explainer


@dataclass(frozen=True)
class EachTextAlone:
    """Applies an explainer to each text of a pair separately, with the pair's class as target.

    Each text is put between the first and the last special token of the pair, and its positions start at the
    beginning. This takes two explanations of shorter batches. A batch of single texts is explained as it is.
    """

    explainer: Explainer

    def __call__(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
        """Scores (B, T) or (B, T, D), 0 on padding and on special tokens of pairs."""
        if not (batch.segment == 2).any():
            return self.explainer(model, batch, target)
        row = torch.arange(len(batch), device=batch.segment.device)[:, None]
        parts = []
        for part in (1, 2):
            text, source = alone(batch, part)
            scores = self.explainer(model, text, target)
            scores[text.segment == 0] = 0
            parts.append((scores, source))
        total = scores.new_zeros(*batch.segment.shape, *scores.shape[2:])
        for scores, source in parts:
            total[row, source] += scores
        return total


def alone(batch: Batch, part: int) -> tuple[Batch, Tensor]:
    """One text of each pair as a batch of its own, in segment 1, and where its tokens stand in the pair (B, T')."""
    position = torch.arange(batch.segment.shape[1], device=batch.segment.device)
    real = batch.attention_mask.bool()
    first, last = real.byte().argmax(1), (position * real).argmax(1)
    ends = (position == first[:, None]) | (position == last[:, None])
    kept = real & ((batch.segment == part) | (ends & (batch.segment == 0)))
    source = (~kept).byte().argsort(dim=1, stable=True)[:, : int(kept.sum(1).max())]
    ids, mask, segment = (
        values.gather(1, source) for values in (batch.input_ids, kept.long(), (kept & (batch.segment == part)).long())
    )
    types = batch.token_type_ids
    if types is not None:  # a text alone is of the first type, and a special token before it keeps its own
        types = types.gather(1, source) * (source == first[:, None])
    return Batch(ids, mask, segment, batch.labels, types), source
