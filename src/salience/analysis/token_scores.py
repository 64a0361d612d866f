"""Attention score and polarity score of words (Sun and Lu, ACL 2020, section 3).

A token's attention score a is what goes into the softmax, its polarity score s what it would add to the class scores
if it were attended to alone. Global scores are those of a type by itself; local ones are means over its occurrences,
which differ where the encoder sees the context.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from salience.batch import Batch
from salience.hooks.hooks import evaluating
from salience.models.attention_classifier import AttentionClassifier
from salience.models.poolings import Attention
from salience.models.states import pooled_states

CHUNK = 1024  # types in a batch


@dataclass(frozen=True)
class TokenScores:
    """Of each type of the vocabulary."""

    attention: Tensor  # (V,) before the softmax, scale included
    polarity: Tensor  # (V, K): K is 1 for two classes, else C
    weight: Tensor  # (V,) mean attention weight, after the softmax; of a type by itself 1
    occurrences: Tensor  # (V,); types without any have scores of 0


def polarity_of(polarity: np.ndarray, category: int) -> np.ndarray:
    """Of polarity scores (..., K) those (...) that a category of words is looked at by.

    Two classes have one polarity. Of several a class's words have that for their class, and the words of no class
    (a category below 0) the mean over classes.
    """
    if polarity.shape[-1] == 1:
        return polarity[..., 0]
    return polarity[..., category] if category >= 0 else polarity.mean(-1)


def check_scored(model: AttentionClassifier) -> None:
    """Refuses models without a polarity or without an attention score."""
    if not isinstance(model, AttentionClassifier) or model.config.head != "linear":
        raise ValueError(
            "polarity is defined for attention classifiers with a linear head; train one with --model attention:dot"
        )
    if model.predicts_compressed:
        raise ValueError("what it predicts by, VAT's compressor, is no sum of its words' polarities")
    if not isinstance(model.pooling, Attention) or model.pooling.heads != 1:
        raise ValueError("attention scores are defined for dot and additive attention of one head")


@torch.no_grad()
def token_scores(model: AttentionClassifier, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Attention scores (B, T), attention weights (B, T), polarity scores (B, T, K), and the mask of words (B, T)."""
    states, mask = pooled_states(model, batch)
    _, weights = model.pooling(states, mask)
    return model.pooling.scores(states)[:, 0], weights[:, 0], states @ model.head.weight.T, mask


def global_scores(model: AttentionClassifier, special: Iterable[int] = ()) -> TokenScores:
    """Of every type alone: a text of one word, between the ids `special` = (first, last) if the encoder reads them."""
    special = list(special)
    everything = torch.arange(model.config.vocab_size)

    def batches() -> Iterable[Batch]:
        for ids in everything.split(CHUNK):
            columns = [torch.full_like(ids, special[0]), ids, torch.full_like(ids, special[1])] if special else [ids]
            text = torch.stack(columns, 1)
            segment = torch.zeros_like(text)
            segment[:, len(columns) // 2] = 1
            yield Batch(text, torch.ones_like(text), segment)

    return local_scores(model, batches())


def local_scores(model: AttentionClassifier, batches: Iterable[Batch]) -> TokenScores:
    """The mean of every type's scores over its occurrences in texts."""
    check_scored(model)
    vocabulary, kinds = model.config.vocab_size, model.head.weight.shape[0]
    attention, weight, number = (torch.zeros(vocabulary, dtype=torch.float64) for _ in range(3))
    polarity = torch.zeros(vocabulary, kinds, dtype=torch.float64)
    with evaluating(model):
        for batch in batches:
            scores, weights, polarities, mask = (part.cpu() for part in token_scores(model, batch.to(model.device)))
            ids = batch.input_ids.cpu()[mask]
            attention.index_add_(0, ids, scores[mask].double())
            weight.index_add_(0, ids, weights[mask].double())
            polarity.index_add_(0, ids, polarities[mask].double())
            number.index_add_(0, ids, torch.ones(len(ids), dtype=torch.float64))
    seen = number.clamp(min=1)
    return TokenScores(attention / seen, polarity / seen[:, None], weight / seen, number)
