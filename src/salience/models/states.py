"""The states that the pooling of an attention classifier reads."""

from __future__ import annotations

from contextlib import suppress

from torch import Tensor

from salience.batch import Batch
from salience.hooks.attention_weights import Reached
from salience.hooks.hooks import forward, rewriting_arguments
from salience.models.attention_classifier import AttentionClassifier


def pooled_states(model: AttentionClassifier, batch: Batch) -> tuple[Tensor, Tensor]:
    """The arguments of the model's pooling, in a forward pass that ends there.

    Returns:
        The encoder's states (B, T, D), and the mask of the tokens that the pooling may read (B, T).
    """
    arguments: dict[str, Tensor] = {}

    def keep(given: dict) -> dict:
        arguments.update(given)
        raise Reached

    with suppress(Reached), rewriting_arguments(model.pooling, keep):
        forward(model, batch)
    return arguments["states"], arguments["mask"]
