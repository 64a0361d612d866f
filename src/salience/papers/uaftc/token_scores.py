"""Attention scores and polarity scores of words (Sun and Lu, 2020, section 3).

Understanding Attention for Text Classification, ACL 2020, doi 10.18653/v1/2020.acl-main.312.

The attention score a of a token is the argument of the softmax. Its polarity score s is the score that the head would
give to a text whose attention is all on this token. The global scores of a word type are those of a text that
consists of this word alone. Its local scores are means over its occurrences in a corpus; they differ from the global
ones if the encoder reads the context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.hooks import evaluating
from salience.papers.attention_classifiers.classifier import AttentionClassifier, pooled_states
from salience.papers.attention_classifiers.poolings import Attention

CHUNK = 1024  # word types in a batch


@dataclass(frozen=True)
class TokenScores:
    """The scores of each of V word types, in float64.

    Attributes:
        attention: attention scores (V,), divided by the scale.
        polarity: polarity scores (V, K), with K = 1 for two classes and K = C otherwise.
        weight: mean attention weights (V,), after the softmax; 1 for a text of one word.
        occurrences: number of occurrences (V,); a type without any has scores of 0.
    """

    attention: Tensor
    polarity: Tensor
    weight: Tensor
    occurrences: Tensor


def polarity_of(polarity: np.ndarray, category: int) -> np.ndarray:
    """The polarity scores (...) by which a category of words is judged, of scores (..., K).

    With two classes (K = 1) there is one score. With more classes it is the score for the class of the category, or
    the mean over classes for a category below 0, which belongs to no class.
    """
    if polarity.shape[-1] == 1:
        return polarity[..., 0]
    return polarity[..., category] if category >= 0 else polarity.mean(-1)


def check_scored(model: nn.Module) -> tuple[Attention, nn.Linear]:
    """Checks that the tokens of a model have one attention score and a polarity score.

    Returns:
        The model's pooling and its head.

    Raises:
        ValueError: the model is no attention classifier with a linear head and one head of dot or additive attention,
            or it predicts with VAT's compressor.
    """
    if not isinstance(model, AttentionClassifier) or not isinstance(model.head, nn.Linear):
        raise ValueError(
            "polarity is defined for attention classifiers with a linear head; train one with --model attention:dot"
        )
    if model.predicts_compressed:
        raise ValueError("VAT's compressor predicts, and its scores are no sum of the polarities of words")
    if not isinstance(model.pooling, Attention) or model.pooling.heads != 1:
        raise ValueError("attention scores are defined for dot and additive attention with one head")
    return model.pooling, model.head


@torch.no_grad()
def token_scores(model: AttentionClassifier, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The scores of the tokens of a batch.

    Returns:
        Attention scores (B, T), attention weights (B, T), polarity scores (B, T, K), and the mask of words (B, T).

    Raises:
        ValueError: the model has no such scores.
    """
    pooling, head = check_scored(model)
    states, mask = pooled_states(model, batch)
    _, weights = pooling(states, mask)
    return pooling.scores(states)[:, 0], weights[:, 0], states @ head.weight.T, mask


def global_scores(model: AttentionClassifier, special: Iterable[int] = ()) -> TokenScores:
    """The scores of every word type in a text that consists of this word alone.

    Args:
        model: the classifier.
        special: the ids of the special tokens before and after the word, if the encoder reads them.

    Raises:
        ValueError: the model has no such scores.
    """
    special = list(special)
    every_type = torch.arange(model.config.vocab_size)

    def batches() -> Iterator[Batch]:
        for ids in every_type.split(CHUNK):
            columns = [torch.full_like(ids, special[0]), ids, torch.full_like(ids, special[1])] if special else [ids]
            texts = torch.stack(columns, 1)
            segment = torch.zeros_like(texts)
            segment[:, len(columns) // 2] = 1
            yield Batch(texts, torch.ones_like(texts), segment)

    return local_scores(model, batches())


def local_scores(model: AttentionClassifier, batches: Iterable[Batch]) -> TokenScores:
    """The mean scores of every word type over its occurrences in texts.

    Raises:
        ValueError: the model has no such scores.
    """
    _, head = check_scored(model)
    vocabulary, columns = model.config.vocab_size, head.weight.shape[0]
    attention, weight, number = (torch.zeros(vocabulary, dtype=torch.float64) for _ in range(3))
    polarity = torch.zeros(vocabulary, columns, dtype=torch.float64)
    with evaluating(model):
        for batch in batches:
            scores, weights, polarities, mask = (part.cpu() for part in token_scores(model, batch.to(model.device)))
            ids = batch.input_ids.cpu()[mask]
            attention.index_add_(0, ids, scores[mask].double())
            weight.index_add_(0, ids, weights[mask].double())
            polarity.index_add_(0, ids, polarities[mask].double())
            number.index_add_(0, ids, torch.ones(len(ids), dtype=torch.float64))
    divisor = number.clamp(min=1)
    return TokenScores(attention / divisor, polarity / divisor[:, None], weight / divisor, number)
