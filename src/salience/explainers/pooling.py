"""What an attention classifier's pooling attends to (Zhou et al., 2021): its explanation of itself."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.hooks import evaluating
from salience.hooks.stages import unwrapped
from salience.models.attention_classifier import AttentionClassifier
from salience.models.states import pooled_states


def pooling_attention(model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
    """Attention weights (B, T), the mean over heads, whatever the target; 0 on padding and special tokens.

    Raises:
        ValueError: the model is no attention classifier, or its pooling attends to no words.
    """
    model = unwrapped(model)
    if not isinstance(model, AttentionClassifier):
        raise ValueError(f"{type(model).__name__} has no attention pooling; train one with --model attention:additive")
    if model.config.pooling == "first":
        raise ValueError("first pooling reads the first token alone, which is no word")
    with torch.no_grad(), evaluating(model):
        _, attention = model.pooling(*pooled_states(model, batch))
    if attention is None:
        raise ValueError(f"{model.config.pooling} pooling has no attention to show")
    return attention.mean(1)
