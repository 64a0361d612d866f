"""How much attention each token receives: from all of its text (Lewy and Mańdziuk, 2023, AttentionMix, Eq. 5 and 6),
or from the token that most models classify by."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.attention_weights import attention


@dataclass(frozen=True)
class Attention:
    """b_j = 1/n sum_i A_ij: the mean over queries i of what they give to key j; b sums to 1 over a text.

    Queries on padding are left out and n is a text's true length, so that padding changes nothing. (The paper says
    "number of tokens in the sentence"; sums over a padded n would prefer the shorter text.)
    """

    layer: int = 0  # 0 is the first; negative numbers count from the last
    head: int | None = None  # None: the mean over the layer's heads (Eq. 6)
    mean: bool = True  # False: sums over queries, n b_j

    def __call__(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
        """Scores (B, T), whatever the target; the model's mode and its weights' gradients stay as they are."""
        scores = received(attention(model, batch, self.layer, self.head), batch).mean(1)
        return scores if self.mean else scores * batch.attention_mask.sum(1, keepdim=True)


@dataclass(frozen=True)
class ClsAttention:
    """What a text's first token, [CLS] or <s>, gives to each: a row of A, which sums to 1 over the text."""

    layer: int = -1
    head: int | None = None  # None: the mean over the layer's heads

    def __call__(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
        """Scores (B, T), whatever the target."""
        given = attention(model, batch, self.layer, self.head)
        first = batch.attention_mask.argmax(1)  # padding may stand before it
        return given[torch.arange(len(first), device=first.device), :, first].mean(1) * batch.attention_mask


def received(given: Tensor, batch: Batch) -> Tensor:
    """What each token gets (B, H, T) of the attention (B, H, T, T) that a text's tokens give, a mean over them."""
    real = batch.attention_mask.to(given.dtype)
    length = real.sum(1).clamp(min=1)
    return torch.einsum("bhij,bi->bhj", given, real) * (real / length[:, None])[:, None]
