"""How one step of gradient descent changes the polarity and the attention of a word, term by term (Sun and Lu, 2020).

Understanding Attention for Text Classification, ACL 2020, doi 10.18653/v1/2020.acl-main.312. Eq. 19 splits the update
of the polarity score of a word type e into A + B + C, Eq. 27 that of its attention score into D + E + F. The appendix
does the same for an affine encoder and for more than two classes. All of them follow from one derivation, with the
notation of `gradient_sums` and

    pi(e)  = sum over the tokens (t, j) of type e of  alpha_tj g_t               (K,)
    rho(e) = sum over the tokens (t, j) of type e of  alpha_tj (s_tj - s_t) . g_t

The printed Eq. 82 lacks the factor alpha_j in its first two terms, and the first term of Eq. 83 needs the factor
1 / (m lambda^2). With these corrections, the sum of the terms is exactly the gradient that autograd computes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from salience.analysis.gradient_sums import Parts, Sums, add_up, parts_of
from salience.batch import Batch
from salience.hooks.hooks import evaluating
from salience.models.attention_classifier import AttentionClassifier
from salience.models.poolings import Additive


@dataclass(frozen=True)
class GradientTerms:
    """The terms by which the scores of each of V types change, per unit of learning rate.

    Attributes:
        polarity: term A, B, C, ... to the changes of the polarity scores (V, K); their sum is the whole change.
        attention: term D, E, F, ... to the changes of the attention scores (V,); their sum is the whole change.
        pi: pi of each type (V, K).
        rho: rho of each type (V,).
    """

    polarity: dict[str, Tensor]
    attention: dict[str, Tensor]
    pi: Tensor
    rho: Tensor


def gradient_terms(model: AttentionClassifier, batches: Iterable[Batch]) -> GradientTerms:
    """The terms of every type of the vocabulary, for the mean cross-entropy over all texts, without dropout.

    Args:
        model: a classifier with dot attention over word embeddings or an affine map, or additive attention over word
            embeddings; one attention head and a linear head.
        batches: the texts, with labels.

    Raises:
        ValueError: the terms are not derived for such a model, there are no texts, or texts without labels.
    """
    parts = parts_of(model)
    with torch.no_grad(), evaluating(model):
        sums = add_up(model, parts, batches)
        if isinstance(parts.pooling, Additive):
            return _additive_terms(parts, parts.pooling.key.weight, sums)
        if parts.affine is not None:
            return _affine_terms(parts, parts.affine.dense.weight, sums)
        return _dot_terms(parts, sums)


def _dot_terms(parts: Parts, sums: Sums) -> GradientTerms:
    """Eq. 19 and 27; for more than two classes Eq. 82 and 83, corrected."""
    table, polarity, query = parts.table, parts.head.weight, parts.pooling.query[0]
    m, scale, coupling = sums.texts, parts.pooling.scale, polarity @ query  # V^T W (K,)
    return GradientTerms(
        polarity={
            "A": sums.rho[:, None] * coupling / (m * scale),
            "B": sums.pi @ (polarity @ polarity.T) / m,
            "C": table @ sums.residual.T / m,
        },
        attention={
            "D": sums.pi @ coupling / (m * scale),
            "E": sums.rho * query.square().sum() / (m * scale**2),
            "F": table @ sums.embedded / (m * scale**2),
        },
        pi=sums.pi,
        rho=sums.rho,
    )


def _affine_terms(parts: Parts, affine: Tensor, sums: Sums) -> GradientTerms:
    """Appendix, Eq. 63 and 64: A, B, D and E as above through the embedding, and again through the map M (D, E)."""
    table, polarity, query = parts.table, parts.head.weight, parts.pooling.query[0]
    m, scale, states = sums.texts, parts.pooling.scale, table @ affine.T
    below, query_below = polarity @ affine, query @ affine  # M^T W (K, E), M^T V (E,)
    coupling, coupling_below = polarity @ query, below @ query_below
    return GradientTerms(
        polarity={
            "A": sums.rho[:, None] * coupling_below / (m * scale),
            "A of M": (table @ sums.embedded)[:, None] * coupling / (m * scale),
            "B": sums.pi @ (below @ below.T) / m,
            "B of M": table @ sums.attended.T @ (polarity @ polarity.T) / m,
            "C": states @ sums.residual.T / m,
        },
        attention={
            "D": sums.pi @ coupling_below / (m * scale),
            "D of M": table @ sums.attended.T @ coupling / (m * scale),
            "E": sums.rho * query_below.square().sum() / (m * scale**2),
            "E of M": table @ sums.embedded * query.square().sum() / (m * scale**2),
            "F": states @ sums.keys / (m * scale**2),
        },
        pi=sums.pi,
        rho=sums.rho,
    )


def _additive_terms(parts: Parts, key: Tensor, sums: Sums) -> GradientTerms:
    """Additive attention, exactly. The appendix's Eq. 71 holds only where tanh is nearly the identity."""
    table, polarity, query = parts.table, parts.head.weight, parts.pooling.query[0]
    m, scale = sums.texts, parts.pooling.scale
    keys = (table @ key.T).tanh()
    slopes = (1 - keys.square()) * query  # dk/dx V of each type (V, D)
    below = slopes @ key  # (V, E)
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
