"""The attention weights of an attention classifier's pooling, as in VAT (Zhou et al., Findings of ACL 2021)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.hooks import evaluating
from salience.hooks.stages import unwrapped
from salience.models.attention_classifier import AttentionClassifier
from salience.models.states import pooled_states


def pooling_attention(model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
    """Attention weights (B, T), the mean over heads; 0 on padding and special tokens. `target` has no effect.

    Raises:
        ValueError: the model is not an attention classifier, or its pooling does not attend to words.
    """
    model = unwrapped(model)
    if not isinstance(model, AttentionClassifier):
        raise ValueError(f"{type(model).__name__} has no attention pooling; train one with --model attention:additive")
    if model.config.pooling == "first":
        raise ValueError("first pooling reads the first token only, which is not a word")
    with torch.no_grad(), evaluating(model):
        _, attention = model.pooling(*pooled_states(model, batch))
    if attention is None:
        raise ValueError(f"{model.config.pooling} pooling has no attention to show")
    return attention.mean(1)
