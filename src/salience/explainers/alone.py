"""The texts of a pair explained one at a time, as SSMix's published code scores them (Yoon, Kim and Park, 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.gradient import Explainer


@dataclass(frozen=True)
class EachTextAlone:
    """`explainer` on each text of a pair by itself, towards the pair's class: it never sees the other text.

    A text stands alone between the first and the last special token of its pair, and its positions start anew. That
    takes two explanations of shorter batches in place of one; a batch of single texts is explained as it is.
    """

    explainer: Explainer

    def __call__(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
        """Scores (B, T) or (B, T, D), 0 on special tokens of pairs and on padding.

        Without labels and without `target`, each text is explained towards what the model predicts for it alone.
        """
        if not (batch.segment == 2).any():
            return self.explainer(model, batch, target)
        total: Tensor | None = None
        row = torch.arange(len(batch), device=batch.segment.device)[:, None]
        for part in (1, 2):
            text, source = alone(batch, part)
            scores = self.explainer(model, text, target)
            scores[text.segment == 0] = 0
            if total is None:
                total = scores.new_zeros(*batch.segment.shape, *scores.shape[2:])
            total[row, source] += scores
        return total


def alone(batch: Batch, part: int) -> tuple[Batch, Tensor]:
    """Text `part` of each pair as a text of its own, and the place (B, T') in the pair that each token came from."""
    place = torch.arange(batch.segment.shape[1], device=batch.segment.device)
    real = batch.attention_mask.bool()
    ends = (place == real.byte().argmax(1)[:, None]) | (place == (place * real).argmax(1)[:, None])
    kept = real & ((batch.segment == part) | (ends & (batch.segment == 0)))
    source = (~kept).byte().argsort(dim=1, stable=True)[:, : int(kept.sum(1).max())]
    ids, mask, segment = (
        values.gather(1, source) for values in (batch.input_ids, kept.long(), (kept & (batch.segment == part)).long())
    )
    return Batch(ids, mask, segment, batch.labels), source
