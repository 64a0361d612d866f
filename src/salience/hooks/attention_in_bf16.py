"""Attention in bf16 on processors, with a backward pass that is not slower than that of fp32.

The backward pass of torch's fused attention takes 5 to 13 times as long in bf16 as in fp32 on processors (torch 2.13;
docs/benchmarks.md, "Precision: bf16 compared with fp32"). Where a gradient is needed, attention is therefore computed
from two products in bf16 with a softmax in float32, or, for long texts without dropout, fused in float32.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from salience.hooks.attention_functions import attending_by, has_interface, register
from salience.hooks.stages import encoder_of, unwrapped

NAME = "salience_attention_in_bf16"
SHORT = 128  # tokens; up to this length two products are faster than fused attention in float32


def differentiating_in_bf16(model: nn.Module) -> AbstractContextManager:
    """Inside the `with`, bf16's autocast on a processor computes attention so that its backward pass is fast.

    Models that do not use fused attention through transformers' attention interface stay as they are.
    """
    encoder = encoder_of(unwrapped(model))
    if not has_interface(encoder) or encoder.config._attn_implementation != "sdpa":
        return nullcontext()
    return attending_by(encoder, NAME)


def attention_in_bf16(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **others
) -> tuple[Tensor, None]:
    """Fused attention, or the same by other operations where a gradient is needed in bf16 on a processor.

    The signature is that of transformers' attention interface; `query`, `key` and `value` are (B, H, T, D / H), the
    result is (B, T, H, D / H).
    """
    others.pop("output_attentions", None)
    if not (is_slow(query) and is_plain(module, query, key, attention_mask, others)):
        return sdpa_attention_forward(module, query, key, value, attention_mask, **others)
    dropout = others.get("dropout", 0.0)
    if query.shape[2] > SHORT and not dropout:
        with torch.autocast("cpu", enabled=False):
            wide = (part.float() for part in (query, key, value))
            return sdpa_attention_forward(module, *wide, attention_mask, **others)
    scaling = others.get("scaling")
    scores = (query @ key.transpose(2, 3)).float() * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask, torch.finfo(scores.dtype).min)
    weights = nn.functional.dropout(scores.softmax(3).to(torch.bfloat16), dropout)
    return (weights @ value).transpose(1, 2).contiguous(), None


def is_slow(query: Tensor) -> bool:
    """Whether fused attention would have a slow backward pass here."""
    return query.requires_grad and query.device.type == "cpu" and torch.is_autocast_enabled("cpu")


def is_plain(module: nn.Module, query: Tensor, key: Tensor, mask: Tensor | None, others: dict) -> bool:
    """Whether every token attends to all others but those that a bool mask excludes, with as many keys as queries."""
    causal = others.get("is_causal")
    causal = getattr(module, "is_causal", True) if causal is None else causal
    return (
        query.shape[1] == key.shape[1]
        and (not causal or mask is not None)
        and (mask is None or mask.dtype == torch.bool)
        and others.get("position_bias") is None
    )


register(NAME, attention_in_bf16)
