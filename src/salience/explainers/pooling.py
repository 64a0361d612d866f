"""The attention weights of the pooling of an attention classifier, as in VAT (Zhou et al., Findings of ACL 2021)."""

from __future__ import annotations

from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.attention import ClsAttention
from salience.hooks.stages import depth, encoder_of, has_pooling_layer, unwrapped
from salience.models.architectures import Architecture


def pooling_attention(model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
    """Attention weights (B, T), the mean over heads; 0 on padding. `target` has no effect.

    They are 0 on special tokens in attention classifiers, whose pooling reads words only. In a pooling layer that was
    trained, as those of runs with the retired pooling trained-mean, special tokens have weights too.
    """
    model = unwrapped(model)
    if has_pooling_layer(model):
        if encoder_of(model).config.pooling_layer == "mean":
            raise ValueError("mean pooling weights all tokens alike; use another explainer")
        return ClsAttention(layer=depth(model))(model, batch)
    if not isinstance(model, Architecture):
        raise ValueError(f"{type(model).__name__} has no attention pooling; train one with --model attention:additive")
    return model.pooling_attention(batch)
