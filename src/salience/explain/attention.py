"""How much attention each token receives (Lewy and Mańdziuk, 2023, AttentionMix, Eq. 5 and 6)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from salience.attending import attention
from salience.batch import Batch


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
        given = attention(model, batch, self.layer, self.head)
        real = batch.attention_mask.to(given.dtype)
        received = torch.einsum("bhij,bi->bj", given, real) / given.shape[1] * real
        return received / real.sum(1, keepdim=True).clamp(min=1) if self.mean else received
