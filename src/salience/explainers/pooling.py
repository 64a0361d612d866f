"""The attention weights of the pooling of an attention classifier, as in VAT (Zhou et al., Findings of ACL 2021)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.attention import ClsAttention
from salience.hooks.hooks import evaluating
from salience.hooks.stages import depth, encoder_of, has_pooling_layer, unwrapped
from salience.papers.attention_classifiers.classifier import AttentionClassifier, pooled_states


def pooling_attention(model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
    """Attention weights (B, T), the mean over heads; 0 on padding. `target` has no effect.

    They are 0 on special tokens in attention classifiers, whose pooling reads words only. In a pooling layer that was
    trained, as those of runs with the retired pooling trained-mean, special tokens have weights too.

    Raises:
        ValueError: the model has no pooling of this kind, or its pooling does not attend to words.
    """
    model = unwrapped(model)
    if has_pooling_layer(model):
        if encoder_of(model).config.pooling_layer == "mean":
            raise ValueError("mean pooling weights all tokens alike; use another explainer")
        return ClsAttention(layer=depth(model))(model, batch)
    if not isinstance(model, AttentionClassifier):
        raise ValueError(f"{type(model).__name__} has no attention pooling; train one with --model attention:additive")
    if model.config.pooling == "first":
        raise ValueError("first pooling reads the first token only, which is not a word")
    with torch.no_grad(), evaluating(model):
        _, attention = model.pooling(*pooled_states(model, batch))
    if attention is None:
        raise ValueError(f"{model.config.pooling} pooling has no attention to show")
    return attention.mean(1)
