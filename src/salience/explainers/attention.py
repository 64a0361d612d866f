"""Attention that tokens receive from all tokens of their text, or from the token that most models classify by.

The former is the guide of AttentionMix (Lewy and Mańdziuk, 2023, arXiv:2309.11104, Eq. 5 and 6).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.explainer import WithLogits
from salience.hooks.attention import attention, attention_and_logits


class OfLayer(WithLogits):
    """An explainer by the attention of one layer or head, of which `scores` makes one score a token."""

    layer: int  # 0 is the first, negative numbers count from the last
    head: int | None  # from 0; None for the mean of the layer's heads (Eq. 6)

    @abstractmethod
    def scores(self, given: Tensor, batch: Batch) -> Tensor:
        """The scores (B, T) of attention probabilities (B, H, T, T)."""

    def __call__(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
        """Scores (B, T), 0 on padding; `target` has no effect. The pass ends at the layer."""
        return self.scores(attention(model, batch, self.layer, self.head), batch)

    def with_logits(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The scores, and the logits (B, C) of the same forward pass."""
        given, logits = attention_and_logits(model, batch, self.layer, self.head)
        return self.scores(given, batch), logits


@dataclass(frozen=True)
class Attention(OfLayer):
    """b_j = 1/n sum_i A_ij: the attention that token j receives, a mean over queries i. It sums to 1 over a text.

    n is the length of the text without padding, and queries on padding are left out. (The paper says "number of
    tokens in the sentence"; with a padded n the shorter text of a pair would get more weight.)
    """

    layer: int = 0
    head: int | None = None
    mean: bool = True  # divide by n; False for the sum over queries

    def scores(self, given: Tensor, batch: Batch) -> Tensor:
        scores = received(given, batch).mean(1)
        return scores if self.mean else scores * batch.attention_mask.sum(1, keepdim=True)


@dataclass(frozen=True)
class ClsAttention(OfLayer):
    """The attention from a text's first token, [CLS] or <s>, to each token: a row of A. It sums to 1 over the text."""

    layer: int = -1
    head: int | None = None

    def scores(self, given: Tensor, batch: Batch) -> Tensor:
        first = batch.attention_mask.argmax(1)  # padding can be on the left
        return given[torch.arange(len(first), device=first.device), :, first].mean(1) * batch.attention_mask


def received(given: Tensor, batch: Batch) -> Tensor:
    """The attention that each token receives (B, H, T): the mean of (B, H, T, T) over the queries of its text."""
    real = batch.attention_mask.to(given.dtype)
    length = real.sum(1).clamp(min=1)
    return torch.einsum("bhij,bi->bhj", given, real) * (real / length[:, None])[:, None]
