"""A text without its words: what integrated gradients and captum's attributions measure from."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.hooks import forward, reading, rewriting


@torch.no_grad()
def from_nothing(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """The output of the embedding block (B, T, D) with word rows of zeros and with the text's own; its logits (B, C).

    Positions and special tokens are the same in both. The way between the two is taken behind the block's LayerNorm:
    before it, where nothing is added to the rows (DeBERTa, ModernBERT), x and a x would be one and the same.
    """
    words = (batch.segment > 0)[..., None]
    with reading(model, "embeddings") as own:
        logits = forward(model, batch)
    with rewriting(model, "words", lambda rows: rows.masked_fill(words, 0)), reading(model, "embeddings") as empty:
        forward(model, batch)
    return empty.value, own.value, logits
