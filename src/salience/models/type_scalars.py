"""Fast inference for attention classifiers in which every word type has two scalars (Sun and Lu, 2020, section 3).

Understanding Attention for Text Classification, ACL 2020, doi 10.18653/v1/2020.acl-main.312.
"""

from __future__ import annotations

from typing import TypeGuard

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.hooks import evaluating
from salience.models.attention_classifier import AttentionClassifier, as_logits
from salience.models.poolings import Attention, attend


class TypeScalars:
    """The attention score and the polarity scores of every word type, which determine the logits of any text.

    If a token's state depends on its type alone, the score of a text is s = sum_j alpha_j s_j, where alpha is the
    softmax of the attention scores of its tokens and s_j the polarity of token j. The D numbers of a state are then
    needed once for each type instead of once for each token.

    Args:
        model: a model for which `fits` is true.

    Attributes:
        scores: attention scores (V,), divided by the scale.
        polarity: polarity scores (V, K), with K = 1 for two classes and K = C otherwise.
        classes: C, the number of classes.
    """

    @torch.no_grad()
    def __init__(self, model: AttentionClassifier):
        if not isinstance(model.pooling, Attention):
            raise ValueError(f"{model.config.pooling} pooling has no attention scores")
        with evaluating(model):
            types = torch.arange(model.config.vocab_size, device=model.device)[:, None]
            states = model.encoder(types).last_hidden_state  # (V, 1, D)
            self.scores = model.pooling.scores(states)[:, 0, 0]
            self.polarity = model.head(states[:, 0])
        self.classes = model.config.num_labels

    @staticmethod
    def fits(model: nn.Module) -> TypeGuard[AttentionClassifier]:
        """Whether the states of a model depend on word types alone, and its logits on two scalars of each type."""
        return (
            isinstance(model, AttentionClassifier)
            and model.config.encoder in ("embeddings", "affine")
            and model.config.head == "linear"
            and isinstance(model.pooling, Attention)
            and model.pooling.heads == 1
            and not model.predicts_compressed
        )

    def logits(self, batch: Batch) -> Tensor:
        """The logits (B, C) of the model in evaluation mode, computed without its encoder."""
        words = (batch.segment > 0) & batch.attention_mask.bool()
        attention = attend(self.scores[batch.input_ids], words)
        scores = torch.einsum("bt,btk->bk", attention, self.polarity[batch.input_ids])
        return as_logits(scores, self.classes)
