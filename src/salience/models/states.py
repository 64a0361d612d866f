"""What an attention classifier's pooling reads."""

from __future__ import annotations

from torch import Tensor

from salience.batch import Batch
from salience.hooks.hooks import forward, rewriting_arguments
from salience.models.attention_classifier import AttentionClassifier


def pooled_states(model: AttentionClassifier, batch: Batch) -> tuple[Tensor, Tensor]:
    """The encoder's states (B, T, D) and the mask of the tokens that the pooling may read (B, T)."""
    seen: dict[str, Tensor] = {}

    def see(arguments: dict) -> dict:
        seen.update(arguments)
        return {}

    with rewriting_arguments(model.pooling, see):
        forward(model, batch)
    return seen["states"], seen["mask"]
