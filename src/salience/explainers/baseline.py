"""The baseline of integrated gradients and of captum's attributions: a text without its words."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.hooks import forward, reading, rewriting


@torch.no_grad()
def from_nothing(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """The output of the embedding block with word embeddings of zeros and for the text, and the text's logits.

    Positions and special tokens are the same in both. The outputs are taken after the block's LayerNorm, which gives
    the same result for x and a x: in models that add nothing to word embeddings (DeBERTa, ModernBERT), the points on
    a straight path before it would not differ.

    Returns:
        baseline: (B, T, D).
        embeddings: (B, T, D).
        logits: (B, C).
    """
    words = (batch.segment > 0)[..., None]
    with reading(model, "embeddings") as usual:
        logits = forward(model, batch)
    with rewriting(model, "words", lambda rows: rows.masked_fill(words, 0)), reading(model, "embeddings") as empty:
        forward(model, batch)
    return empty.value, usual.value, logits
