"""Occlusion by leaving tokens out one at a time (Li, Monroe and Jurafsky, 2016): slow, and close to what is meant."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.target import log_probability, target_of
from salience.hooks.hooks import evaluating, forward
from salience.hooks.stages import unwrapped


@dataclass(frozen=True)
class Occlusion:
    """ln p(class) of the text minus ln p of the text without the token. The text closes over the gap: nothing stands
    there that the model has not seen in training, and no special id need be known."""

    at_once: int = 64  # shortened texts in a batch

    @torch.no_grad()
    def __call__(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
        """Scores (B, T), 0 on padding and special tokens."""
        model = unwrapped(model)
        with evaluating(model):
            logits = forward(model, batch)
            target = target_of(logits, batch, target)
            whole = log_probability(logits, target)
            scores = torch.zeros_like(batch.attention_mask, dtype=whole.dtype)
            for part in (batch.segment > 0).nonzero().split(self.at_once):  # (row, place) of every word's token
                if not len(part):  # there is no word: one part, an empty one
                    break
                rows, places = part.T
                left = without(batch, rows, places)
                scores[rows, places] = whole[rows] - log_probability(forward(model, left), target[rows])
            return scores


def without(batch: Batch, rows: Tensor, places: Tensor) -> Batch:
    """For each pair of a row and a place: the text of that row without the token at that place, padded at the end."""
    length = batch.input_ids.shape[1]
    order = torch.arange(length, device=rows.device).expand(len(rows), length)
    source = (order + (order >= places[:, None])).clamp(max=length - 1)
    ids, mask, segment = (
        part[rows].gather(1, source) for part in (batch.input_ids, batch.attention_mask, batch.segment)
    )
    # The last column has nothing to its right; a full text would keep its last token twice.
    there = mask * (order < length - 1)
    return Batch(ids, there, segment * there, None if batch.labels is None else batch.labels[rows])
