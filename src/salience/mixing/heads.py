"""Which attention head to guide AttentionMix by: the paper sweeps them and names an automatic choice as open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.attention import received
from salience.explainers.gradient import gradient
from salience.hooks.attention_weights import attention
from salience.hooks.hooks import evaluating
from salience.hooks.stages import depth


@dataclass(frozen=True)
class Head:
    layer: int
    head: int
    agreement: float  # from -1 to 1


def rank_heads(model: nn.Module, batches: Iterable[Batch]) -> list[Head]:
    """Every head of every layer, those first that attend to what the loss is sensitive to.

    The agreement of a head is the mean over texts of the rank correlation, among a text's words, between the attention
    that they receive from it and the norm of the loss's gradient at them. No head is trained with: the cost is that of
    a backward pass and (L + 1) / 2 forward passes of the batches.
    """
    total, texts = None, 0
    with evaluating(model):
        for batch in batches:
            words = batch.segment > 0
            counted = words.sum(1) > 1  # one word has no order
            if not counted.any():
                continue
            saliency = gradient(model, batch)
            layers = [received(attention(model, batch, layer), batch) for layer in range(depth(model))]
            relevance = torch.stack(layers)  # (L, B, H, T)
            agreements = rank_correlation(relevance, saliency[:, None].expand_as(relevance), words[:, None])
            found = agreements[:, counted].sum(1).cpu()  # (L, H)
            total, texts = found if total is None else total + found, texts + int(counted.sum())
    if total is None:
        raise ValueError("no text of two words or more: there is nothing to choose a head by")
    agreement = total / texts
    order = agreement.flatten().argsort(descending=True, stable=True)
    heads = agreement.shape[1]
    return [Head(place // heads, place % heads, float(agreement.flatten()[place])) for place in order.tolist()]


def rank_correlation(first: Tensor, second: Tensor, among: Tensor) -> Tensor:
    """Spearman's correlation of the allowed values along the last axis (..., T) -> (...); 0 of fewer than two."""
    ranks = [values.masked_fill(~among, torch.inf).argsort(-1).argsort(-1).double() for values in (first, second)]
    count = among.sum(-1)
    distance = ((ranks[0] - ranks[1]).square() * among).sum(-1)
    return (1 - 6 * distance / (count * (count**2 - 1)).clamp(min=1)).where(count > 1, 0)
