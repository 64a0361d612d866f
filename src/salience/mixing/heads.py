"""Ranking attention heads as guides for AttentionMix. The paper compares heads by hand (arXiv:2309.11104, section 5)
and names an automatic choice as future work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.attention import received
from salience.explainers.gradient import gradient
from salience.hooks.attention import attention
from salience.hooks.hooks import evaluating
from salience.hooks.stages import depth


@dataclass(frozen=True)
class Head:
    """An attention head, both numbers from 0, and its mean rank correlation with the norm of the gradient."""

    layer: int
    head: int
    agreement: float


def rank_heads(model: nn.Module, batches: Iterable[Batch]) -> list[Head]:
    """All heads of all layers, sorted by their agreement with the gradient of the loss, best first.

    The agreement of a head is a mean over texts. For each text it is Spearman's rank correlation, over the text's
    words, between the attention that they receive from the head and the norm of the loss's gradient at them. The model
    is in evaluation mode. The cost is one backward pass and (L + 1) / 2 forward passes of the batches.

    Raises:
        ValueError: no text has two words, or the model cannot show its attention.
    """
    total, texts = None, 0
    with evaluating(model):
        for batch in batches:
            words = batch.segment > 0
            counted = words.sum(1) > 1  # a single word has no rank correlation
            if not counted.any():
                continue
            saliency = gradient(model, batch)
            layers = [received(attention(model, batch, layer), batch) for layer in range(depth(model))]
            relevance = torch.stack(layers)  # (L, B, H, T)
            agreements = rank_correlation(relevance, saliency[:, None].expand_as(relevance), words[:, None])
            of_batch = agreements[:, counted].sum(1).cpu()  # (L, H)
            total, texts = of_batch if total is None else total + of_batch, texts + int(counted.sum())
    if total is None:
        raise ValueError("ranking the attention heads needs a text of two words or more; give a head instead")
    agreement = total / texts
    order = agreement.flatten().argsort(descending=True, stable=True)
    heads = agreement.shape[1]
    return [Head(index // heads, index % heads, float(agreement.flatten()[index])) for index in order.tolist()]


def rank_correlation(first: Tensor, second: Tensor, among: Tensor) -> Tensor:
    """Spearman's rank correlation along the last axis, 1 - 6 sum d^2 / (n (n^2 - 1)): (..., T) -> (...).

    n values are compared, those `among`; the result is 0 if there are fewer than two.
    """
    ranks = [values.masked_fill(~among, torch.inf).argsort(-1).argsort(-1).double() for values in (first, second)]
    count = among.sum(-1)
    distance = ((ranks[0] - ranks[1]).square() * among).sum(-1)
    return (1 - 6 * distance / (count * (count**2 - 1)).clamp(min=1)).where(count > 1, 0)
