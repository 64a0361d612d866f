"""The floating-point operations that a BERT classifier needs for texts, and its matrix products alone.

An operation is an addition or a multiplication. Only matrix products count, and only those of real tokens: softmax,
GELU, LayerNorm, the optimizer and all products of padding add time, but no useful operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import BertForSequenceClassification

# For each kind of work: how often the weights' products and the products of the attention count, relative to a
# forward pass. Training needs the gradients of inputs and weights. The gradient at the embeddings needs those of the
# inputs alone; the attention multiplies two inputs, so there both gradients are of inputs.
PASSES = {"training": (3, 3), "predicting": (1, 1), "explaining": (2, 3)}


@dataclass(frozen=True)
class Operations:
    """Counts operations for texts by the shape of the model.

    Args:
        layers: number of layers L.
        width: D, the width of a state.
        inner: width of the hidden layer of the feed-forward part.
        classes: C.
    """

    layers: int
    width: int
    inner: int
    classes: int

    @classmethod
    def of(cls, model: BertForSequenceClassification) -> Operations:
        config = model.config
        return cls(config.num_hidden_layers, config.hidden_size, config.intermediate_size, config.num_labels)

    def useful(self, work: str, lengths: Sequence[int]) -> int:
        """Operations that one of `PASSES` needs for texts of these lengths (in tokens), without padding."""
        weights, attention = PASSES[work]
        return weights * self.by_weights(lengths) + attention * self.by_attention(lengths)

    def by_weights(self, lengths: Sequence[int]) -> int:
        """Of a forward pass, the products with a weight: 4 DxD and 2 Dx(inner) a token and layer, and the head's."""
        a_token = self.layers * (4 * self.width**2 + 2 * self.width * self.inner)
        a_text = self.width**2 + self.width * self.classes  # the pooler, and the classifier on it
        return 2 * (sum(lengths) * a_token + len(lengths) * a_text)

    def by_attention(self, lengths: Sequence[int]) -> int:
        """Of a forward pass, the products of queries with keys and of attention weights with values."""
        return 2 * self.layers * 2 * self.width * sum(length**2 for length in lengths)


def products(
    model: BertForSequenceClassification, work: str, shapes: Sequence[tuple[int, int]], precision: torch.dtype
) -> tuple[Callable[[], None], int]:
    """A function that computes the matrix products of the model's layers and nothing else, and their operations.

    Weights are the model's own, in `precision`, so that they take their place in the cache; states are random.

    Args:
        work: a key of `PASSES`.
        shapes: texts and padded length (B, T) of every batch.
    """
    heads, width = model.config.num_attention_heads, model.config.hidden_size
    weights = [
        [part.weight.detach().to(precision) for part in layer.modules() if isinstance(part, torch.nn.Linear)]
        for layer in model.bert.encoder.layer
    ]
    for_weights, for_attention = PASSES[work]
    sizes = {width, model.config.intermediate_size}
    states = {size: torch.randn(max(b * t for b, t in shapes), size, dtype=precision) for size in sizes}

    @torch.no_grad()
    def compute() -> None:
        for texts, length in shapes:
            queries = torch.randn(texts * heads, length, width // heads, dtype=precision)
            scores = torch.randn(texts * heads, length, length, dtype=precision)
            for layer in weights:
                for weight in layer:
                    with_weight(states, weight, texts * length, for_weights)
                for _ in range(for_attention):
                    queries @ queries.transpose(1, 2)
                    scores @ queries

    counted = Operations.of(model)
    padded = [[length] * texts for texts, length in shapes]
    return compute, sum(
        for_weights * (counted.by_weights(lengths) - counted.by_weights([0] * len(lengths)))
        + for_attention * counted.by_attention(lengths)
        for lengths in padded
    )


def with_weight(states: dict[int, Tensor], weight: Tensor, tokens: int, count: int) -> None:
    """The first `count` of three products: the output, the gradient of the input, the gradient of the weight."""
    outputs, inputs = weight.shape
    given, gradient = states[inputs][:tokens], states[outputs][:tokens]
    torch.nn.functional.linear(given, weight)
    if count > 1:
        gradient @ weight
    if count > 2:
        gradient.T @ given
