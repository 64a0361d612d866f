"""Self-attention with dropout on a processor, which keeps one byte of each probability for its backward pass.

torch's own keeps three numbers of each probability: itself, its noise, and their product. Here the probabilities are
computed again from queries and keys (Dao et al., 2022, arXiv:2205.14135), some heads of a text at a time, so that they
stay in the processor's cache. This takes no more time, because the noise takes less: 16 random bits a probability.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from salience.hooks.dropout import LEVELS, random_bits

BLOCK = 1 << 20  # probabilities that are computed at a time


class DroppedAttention(torch.autograd.Function):
    """dropout(softmax(Q K^T scaling)) V, with the gradients of queries, keys and values."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float, scaling: float
    ) -> Tensor:
        """The result (B, H, T, D) of queries (B, H, T, D), and of keys and values, of which there may be others.

        A `mask` of bool, whose dimensions may be 1, excludes keys. The probability of dropout is rounded to a multiple
        of 1 / `LEVELS`, of which it is one at least.
        """
        ctx.scaling, ctx.levels = scaling, min(max(round((1 - dropout) * LEVELS), 1), LEVELS - 1)
        result = like_states(query, value.shape[3])
        kept = torch.empty(*query.shape[:3], key.shape[2], dtype=torch.uint8)
        bias = as_bias(mask, query, key)
        for block in blocks(kept):
            drawn = random_bits(kept[block].shape)
            torch.lt(drawn, ctx.levels - LEVELS // 2, out=kept[block].view(torch.bool))
            weights = softmax(query[block], key[block], bias[block], scaling).mul_(kept[block].float())
            result[block] = (weights.to(value.dtype) @ value[block]).mul_(LEVELS / ctx.levels)
        ctx.save_for_backward(query, key, value, mask, kept)
        return result

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *given: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, mask, kept = ctx.saved_tensors
        gradient = given[0] * (LEVELS / ctx.levels)
        of_query, of_key, of_value = like_states(query), like_states(key), like_states(value)
        bias = as_bias(mask, query, key)
        for block in blocks(kept):
            weights = softmax(query[block], key[block], bias[block], ctx.scaling)
            dropped = weights * kept[block].float()
            of_value[block] = dropped.to(value.dtype).mT @ gradient[block]
            # p_j (g_j - sum_k p_k g_k), where g is the gradient of the probabilities p, 0 of what was dropped
            of_scores = (gradient[block] @ value[block].mT).to(weights.dtype).mul_(dropped)
            of_scores -= weights.mul_(of_scores.sum(2, keepdim=True))
            scores = of_scores.mul_(ctx.scaling).to(query.dtype)
            of_query[block] = scores @ key[block]
            of_key[block] = scores.mT @ query[block]
        return of_query, of_key, of_value, None, None, None


def blocks(kept: Tensor) -> list[tuple[int, slice]]:
    """The places of the blocks of (B, H, T, T): some heads of a text each, at most `BLOCK` numbers, or one head."""
    texts, heads, *shape = kept.shape
    step = max(1, BLOCK // max(shape[0] * shape[1], 1))
    return [(text, slice(head, head + step)) for text in range(texts) for head in range(0, heads, step)]


def like_states(states: Tensor, width: int | None = None) -> Tensor:
    """An empty tensor (B, H, T, D) that lies in memory as (B, T, H, D), the form of the states of an encoder."""
    texts, heads, tokens, own = states.shape
    return states.new_empty(texts, tokens, heads, own if width is None else width).transpose(1, 2)


def as_bias(mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor:
    """What is added to the scores (B, H, T, T): 0, or a number so low that nothing is left of a score."""
    bias = query.new_zeros(1, 1, 1, 1)
    if mask is not None:
        bias = query.new_zeros(mask.shape).masked_fill_(~mask, torch.finfo(query.dtype).min)
    return bias.expand(*query.shape[:3], key.shape[2])


def softmax(query: Tensor, key: Tensor, bias: Tensor, scaling: float) -> Tensor:
    """The probabilities (H, T, T) of some heads of a text, in float32 at least."""
    scores = torch.baddbmm(bias, query, key.mT, alpha=scaling)
    return scores.softmax(2, dtype=torch.promote_types(query.dtype, torch.float32))
