"""How one step of gradient descent moves a word's polarity and attention, term by term (Sun and Lu, ACL 2020).

Eq. 19 splits the update of a type's polarity score into A + B + C, Eq. 27 that of its attention score into D + E + F;
the appendix does the same for an affine encoder and for several classes. All are one derivation. With m texts, scale
lambda, attention alpha_tj, s_tj a token's and s_t a text's scores (K,), and g_t = -dloss/ds_t (K,):

    pi(e)  = sum over the places (t, j) of type e of  alpha_tj g_t               (K,)
    rho(e) = sum over the places (t, j) of type e of  alpha_tj (s_tj - s_t) . g_t

Two classes have K = 1 and g = y sigmoid(-y s). Everything is added up in one pass over the texts, so the cost is that
of the tokens and of the types, not of their product. The printed Eq. 82 lacks the factor alpha_j in its first two
terms, and the first term of Eq. 83 needs 1 / (m lambda^2); with those, all are exactly the gradient of autograd.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from salience.analysis.token_scores import check_scored
from salience.batch import Batch
from salience.hooks.hooks import evaluating
from salience.models.attention_classifier import AttentionClassifier
from salience.models.poolings import Additive


@dataclass(frozen=True)
class GradientTerms:
    """What moves a type's scores, per unit of learning rate: term by term, summing to the whole."""

    polarity: dict[str, Tensor]  # A, B, C, ...: (V, K)
    attention: dict[str, Tensor]  # D, E, F, ...: (V,)
    pi: Tensor  # (V, K)
    rho: Tensor  # (V,)


@dataclass
class Sums:
    """What is added up over texts, by the names above; h are states, t what attention scores are read from."""

    texts: int
    pi: Tensor  # (V, K)
    rho: Tensor  # (V,)
    residual: Tensor  # sum_t g_t hbar_t^T: (K, D)
    given: Tensor  # sum alpha g e^T: (K, d)
    moved: Tensor  # q e, with q = alpha (s_tj - s_t) . g: (d,)
    keys: Tensor  # q t: (D,)
    slopes: Tensor  # q (dt/dx V) e^T: (D, d)


def gradient_terms(model: AttentionClassifier, batches: Iterable[Batch]) -> GradientTerms:
    """The terms of every type of the vocabulary, for the mean cross-entropy over all texts, without dropout.

    Raises:
        ValueError: the encoder is neither bare embeddings nor an affine map, attention has no score, or there are no
            texts.
    """
    check_scored(model)
    if model.config.encoder not in ("embeddings", "affine") or (
        model.config.encoder == "affine" and isinstance(model.pooling, Additive)
    ):
        raise ValueError("the terms are derived for dot attention over embeddings or an affine map, and for additive "
                         "attention over embeddings")  # fmt: skip
    with torch.no_grad(), evaluating(model):
        sums = add_up(model, batches)
        if not sums.texts:
            raise ValueError("there are no texts to add up over")
        if isinstance(model.pooling, Additive):
            return additive_terms(model, sums)
        return affine_terms(model, sums) if model.config.encoder == "affine" else dot_terms(model, sums)


def add_up(model: AttentionClassifier, batches: Iterable[Batch]) -> Sums:
    table, polarity = model.get_input_embeddings().weight, model.head.weight  # (V, d), W^T (K, D)
    query, kinds, width = model.pooling.query[0], len(polarity), polarity.shape[1]
    new = table.new_zeros
    sums = Sums(0, new(len(table), kinds), new(len(table)), new(kinds, width), new(kinds, table.shape[1]),
                new(table.shape[1]), new(width), new(width, table.shape[1]))  # fmt: skip
    for batch in batches:
        batch = batch.to(model.device)
        mask = (batch.segment > 0) & batch.attention_mask.bool()
        embedded = table[batch.input_ids]
        states = model.encoder.layers[0](embedded, batch.attention_mask) if len(model.encoder.layers) else embedded
        keys = model.pooling.key(states).tanh() if isinstance(model.pooling, Additive) else states
        pooled, weights = model.pooling(states, mask)
        alpha, tokens, text = weights[:, 0], states @ polarity.T, pooled @ polarity.T  # s_tj (B, T, K), s_t (B, K)
        residual = pull(model, pooled, batch.labels)  # g (B, K)

        given = alpha[..., None] * residual[:, None]  # (B, T, K)
        moved = alpha * ((tokens - text[:, None]) * residual[:, None]).sum(2)  # q (B, T)
        sums.texts += len(batch)
        sums.pi.index_add_(0, batch.input_ids[mask], given[mask])
        sums.rho.index_add_(0, batch.input_ids[mask], moved[mask])
        sums.residual += residual.T @ pooled
        sums.given += torch.einsum("btk,btd->kd", given, embedded)
        sums.moved += torch.einsum("bt,btd->d", moved, embedded)
        sums.keys += torch.einsum("bt,btd->d", moved, keys)
        if isinstance(model.pooling, Additive):
            sums.slopes += torch.einsum("bt,btn,btd->nd", moved, (1 - keys.square()) * query, embedded)
    return sums


def pull(model: AttentionClassifier, pooled: Tensor, labels: Tensor) -> Tensor:
    """g = -dloss/ds of each text (B, K): what is missing in the probability of its label."""
    missing = torch.nn.functional.one_hot(labels, model.config.num_labels) - model.classify(pooled).softmax(1)
    return missing[:, 1:] if len(model.head.weight) == 1 else missing


def dot_terms(model: AttentionClassifier, sums: Sums) -> GradientTerms:
    """Eq. 19 and 27; with several classes Eq. 82 and 83, corrected."""
    table, polarity, query = model.get_input_embeddings().weight, model.head.weight, model.pooling.query[0]
    m, scale, coupling = sums.texts, model.pooling.scale, polarity @ query  # V^T W (K,)
    return GradientTerms(
        polarity={
            "A": sums.rho[:, None] * coupling / (m * scale),
            "B": sums.pi @ (polarity @ polarity.T) / m,
            "C": table @ sums.residual.T / m,
        },
        attention={
            "D": sums.pi @ coupling / (m * scale),
            "E": sums.rho * query.square().sum() / (m * scale**2),
            "F": table @ sums.moved / (m * scale**2),
        },
        pi=sums.pi,
        rho=sums.rho,
    )


def affine_terms(model: AttentionClassifier, sums: Sums) -> GradientTerms:
    """Appendix, Eq. 63 and 64: A, B, D and E through the embedding as above, and once more through the map M."""
    table, polarity, query = model.get_input_embeddings().weight, model.head.weight, model.pooling.query[0]
    weight = model.encoder.layers[0].dense.weight  # M (D, d)
    m, scale, states = sums.texts, model.pooling.scale, table @ weight.T
    below, query_below = polarity @ weight, query @ weight  # M^T W (K, d), M^T V (d,)
    coupling, coupling_below = polarity @ query, below @ query_below
    return GradientTerms(
        polarity={
            "A": sums.rho[:, None] * coupling_below / (m * scale),
            "A of M": (table @ sums.moved)[:, None] * coupling / (m * scale),
            "B": sums.pi @ (below @ below.T) / m,
            "B of M": table @ sums.given.T @ (polarity @ polarity.T) / m,
            "C": states @ sums.residual.T / m,
        },
        attention={
            "D": sums.pi @ coupling_below / (m * scale),
            "D of M": table @ sums.given.T @ coupling / (m * scale),
            "E": sums.rho * query_below.square().sum() / (m * scale**2),
            "E of M": table @ sums.moved * query.square().sum() / (m * scale**2),
            "F": states @ sums.keys / (m * scale**2),
        },
        pi=sums.pi,
        rho=sums.rho,
    )


def additive_terms(model: AttentionClassifier, sums: Sums) -> GradientTerms:
    """Additive attention, exactly: the appendix's Eq. 71 holds only where tanh is nearly the identity."""
    table, polarity, query = model.get_input_embeddings().weight, model.head.weight, model.pooling.query[0]
    m, scale, weight = sums.texts, model.pooling.scale, model.pooling.key.weight  # M_a (D, d)
    keys = (table @ weight.T).tanh()
    slopes = (1 - keys.square()) * query  # dt/dx V of each type: (V, D)
    below = slopes @ weight  # (V, d)
    return GradientTerms(
        polarity={
            "A": sums.rho[:, None] * (below @ polarity.T) / (m * scale),
            "B": sums.pi @ (polarity @ polarity.T) / m,
            "C": table @ sums.residual.T / m,
        },
        attention={
            "D": (sums.pi * (below @ polarity.T)).sum(1) / (m * scale),
            "E": sums.rho * below.square().sum(1) / (m * scale**2),
            "F": keys @ sums.keys / (m * scale**2),
            "F of M": torch.einsum("vn,nd,vd->v", slopes, sums.slopes, table) / (m * scale**2),
        },
        pi=sums.pi,
        rho=sums.rho,
    )
