"""The sums over a corpus from which the gradient terms of Sun and Lu (2020) are computed, in one pass.

Notation: m texts; scale lambda; V is the attention vector, W the head; alpha_tj is the attention weight of token j of
text t, s_tj its polarity score and s_t the score of the text (K,); g_t = -dloss/ds_t (K,). K = 1 for two classes, with
g = y sigmoid(-y s), and K = C otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from salience.analysis.token_scores import check_scored
from salience.batch import Batch
from salience.models.attention_classifier import AttentionClassifier
from salience.models.poolings import Additive, Attention
from salience.models.word_encoders import Affine, WordEncoder


@dataclass(frozen=True)
class Parts:
    """The parts of an attention classifier over word embeddings.

    Attributes:
        table: word embeddings (V, E).
        affine: the affine map M over them, or None.
        pooling: dot or additive attention with one head, whose `query` is V (1, D).
        head: the linear head, whose weight is W^T (K, D).
    """

    table: Tensor
    affine: Affine | None
    pooling: Attention
    head: nn.Linear


def parts_of(model: AttentionClassifier) -> Parts:
    """The parts of a model.

    Raises:
        ValueError: the terms are not derived for such a model.
    """
    pooling, head = check_scored(model)
    encoder, name = model.encoder, model.config.encoder
    derived = name == "embeddings" or (name == "affine" and not isinstance(pooling, Additive))
    if not isinstance(encoder, WordEncoder) or not derived:
        raise ValueError("the terms are derived for dot attention over embeddings or an affine map, and for additive "
                         "attention over embeddings")  # fmt: skip
    affine = cast(Affine, encoder.layers[0]) if name == "affine" else None
    return Parts(model.get_input_embeddings().weight, affine, pooling, head)


@dataclass
class Sums:
    """Sums over the texts t and tokens j of a corpus, with q_tj = alpha_tj (s_tj - s_t) . g_t.

    Attributes:
        texts: m, the number of texts.
        pi: the sum of alpha_tj g_t over the tokens of each type (V, K).
        rho: the sum of q_tj over the tokens of each type (V,).
        residual: the sum of g_t R_t^T, where R_t is the pooled vector (K, D).
        attended: the sum of alpha_tj g_t e_tj^T, where e_tj is the embedding (K, E).
        embedded: the sum of q_tj e_tj (E,).
        keys: the sum of q_tj k_tj, where k_tj is what the attention vector is multiplied by: the state for dot
            attention, tanh(M_a e_tj) for additive attention (D,).
        slopes: the sum of q_tj (dk/dx V) e_tj^T for additive attention, with x = M_a e_tj (D, E); else 0.
    """

    texts: int
    pi: Tensor
    rho: Tensor
    residual: Tensor
    attended: Tensor
    embedded: Tensor
    keys: Tensor
    slopes: Tensor


def add_up(model: AttentionClassifier, parts: Parts, batches: Iterable[Batch]) -> Sums:
    """Adds up the sums over labelled batches; the cost grows with the number of tokens plus the number of types.

    Raises:
        ValueError: there are no texts, or texts without labels.
    """
    table, polarity, pooling = parts.table, parts.head.weight, parts.pooling
    columns, width = polarity.shape
    new = table.new_zeros
    sums = Sums(0, new(len(table), columns), new(len(table)), new(columns, width), new(columns, table.shape[1]),
                new(table.shape[1]), new(width), new(width, table.shape[1]))  # fmt: skip
    for batch in batches:
        batch = batch.to(model.device)
        mask = (batch.segment > 0) & batch.attention_mask.bool()
        embedded = table[batch.input_ids]
        states = embedded if parts.affine is None else parts.affine(embedded, batch.attention_mask)
        keys = pooling.key(states).tanh() if isinstance(pooling, Additive) else states
        pooled, attention = pooling(states, mask)
        alpha, tokens, text = attention[:, 0], states @ polarity.T, pooled @ polarity.T  # s_tj (B, T, K), s_t (B, K)
        residual = _residuals(model, pooled, batch.labels, columns)  # g (B, K)

        attended = alpha[..., None] * residual[:, None]  # (B, T, K)
        moved = alpha * ((tokens - text[:, None]) * residual[:, None]).sum(2)  # q (B, T)
        sums.texts += len(batch)
        sums.pi.index_add_(0, batch.input_ids[mask], attended[mask])
        sums.rho.index_add_(0, batch.input_ids[mask], moved[mask])
        sums.residual += residual.T @ pooled
        sums.attended += torch.einsum("btk,btd->kd", attended, embedded)
        sums.embedded += torch.einsum("bt,btd->d", moved, embedded)
        sums.keys += torch.einsum("bt,btd->d", moved, keys)
        if isinstance(pooling, Additive):
            sums.slopes += torch.einsum("bt,btn,btd->nd", moved, (1 - keys.square()) * pooling.query[0], embedded)
    if not sums.texts:
        raise ValueError("there are no texts to add up over")
    return sums


def _residuals(model: AttentionClassifier, pooled: Tensor, labels: Tensor | None, columns: int) -> Tensor:
    """g = -dloss/ds of each text (B, K): the label's indicator minus the predicted probabilities."""
    if labels is None:
        raise ValueError("the terms of a gradient need texts with labels")
    difference = torch.nn.functional.one_hot(labels, model.config.num_labels) - model.classify(pooled).softmax(1)
    return difference[:, 1:] if columns == 1 else difference
