"""Occlusion: each token is left out in turn (Li, Monroe and Jurafsky, 2016, arXiv:1612.08220)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.explainer import WithLogits, target_of
from salience.hooks.hooks import evaluating, forward
from salience.hooks.stages import unwrapped
from salience.models.precision import exactly
from salience.models.problem import log_likelihood


@dataclass(frozen=True)
class Occlusion(WithLogits):
    """ln p(class) of the text minus ln p(class) of the text without the token.

    The token is deleted rather than masked, so the model sees no token in its place. The cost is one forward pass for
    each token. It is computed in fp32 always, because the scores are small differences of probabilities.
    """

    at_once: int = 64  # shortened texts in a batch

    @torch.no_grad()
    def with_logits(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The scores, and the logits (B, C) of the whole texts."""
        model = unwrapped(model)
        with evaluating(model), exactly():
            logits = forward(model, batch)
            target = target_of(logits, batch, target)
            whole = log_likelihood(model, logits, target)
            scores = torch.zeros_like(batch.attention_mask, dtype=whole.dtype)
            for part in (batch.segment > 0).nonzero().split(self.at_once):  # (row, position) of every word's token
                if not len(part):  # without any word, `split` gives one empty part
                    break
                rows, positions = part.T
                shortened = without(batch, rows, positions)
                without_one = log_likelihood(model, forward(model, shortened), target[rows])
                scores[rows, positions] = whole[rows] - without_one
            return scores, logits


def without(batch: Batch, rows: Tensor, positions: Tensor) -> Batch:
    """N texts as a batch: of each of `rows` (N,) the text without the token at its position, of `positions` (N,)."""
    length = batch.input_ids.shape[1]
    order = torch.arange(length, device=rows.device).expand(len(rows), length)
    source = (order + (order >= positions[:, None])).clamp(max=length - 1)

    def shortened(part: Tensor) -> Tensor:
        return part[rows].gather(1, source)

    # The last column has no column to its right: a text without padding would keep its last token twice.
    present = shortened(batch.attention_mask) * (order < length - 1)
    width = int((present * (order + 1)).max().clamp(min=1))  # of the longest of these texts
    labels = None if batch.labels is None else batch.labels[rows]
    types = None if batch.token_type_ids is None else (shortened(batch.token_type_ids) * present)[:, :width]
    segment = (shortened(batch.segment) * present)[:, :width]
    return Batch(shortened(batch.input_ids)[:, :width], present[:, :width], segment, labels, types)
