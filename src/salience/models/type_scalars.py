"""Texts judged by two scalars a word (Sun and Lu, ACL 2020, section 3: s = sum_j alpha_j s_j)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.hooks import evaluating
from salience.models.attention_classifier import AttentionClassifier, as_logits
from salience.models.poolings import Attention, attend


class TypeScalars:
    """The attention score a and the polarity s of every word type, from which any text's logits follow.

    Where a token's state depends on its type alone, the d numbers of a state are needed once a type, not once a token.
    """

    @torch.no_grad()
    def __init__(self, model: AttentionClassifier):
        with evaluating(model):
            types = torch.arange(model.config.vocab_size, device=model.device)[:, None]
            states = model.encoder(types).last_hidden_state  # (V, 1, D)
            self.scores = model.pooling.scores(states)[:, 0, 0]  # (V,)
            self.polarity = model.head(states[:, 0])  # (V, K)
        self.classes = model.config.num_labels

    @staticmethod
    def fits(model: nn.Module) -> bool:
        """Whether the model's states depend on types alone, and its logits on two scalars of each."""
        return (
            isinstance(model, AttentionClassifier)
            and model.config.encoder in ("embeddings", "affine")
            and model.config.head == "linear"
            and isinstance(model.pooling, Attention)
            and model.pooling.heads == 1
            and not model.predicts_compressed
        )

    def logits(self, batch: Batch) -> Tensor:
        """What the model would give (B, C), without its encoder."""
        words = (batch.segment > 0) & batch.attention_mask.bool()
        attention = attend(self.scores[batch.input_ids], words)
        scores = torch.einsum("bt,btk->bk", attention, self.polarity[batch.input_ids])
        return as_logits(scores, self.classes)
