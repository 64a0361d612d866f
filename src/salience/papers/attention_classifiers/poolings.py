"""Poolings: modules that turn the states of a text's tokens into one vector.

A pooling is called with states (B, T, D) and a mask (B, T), true where a token may be read. It returns the pooled
vector (B, D) and the attention weights (B, H, T) of H heads. The weights are 0 where the mask is false and sum to 1
over the other tokens. `Max` has no weights and returns None. `First` ignores the mask.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from salience.papers.attention_classifiers.options import ATTENDING


def attend(scores: Tensor, mask: Tensor) -> Tensor:
    """The masked softmax of attention scores over the last dimension.

    Args:
        scores: (..., T).
        mask: true where a token may be read; broadcasts to the shape of the scores.

    Returns:
        Weights (..., T): 0 where the mask is false, also where it is false for a whole row.
    """
    lowest = torch.finfo(scores.dtype).min  # not -inf: a row without any token would get NaN gradients
    return scores.masked_fill(~mask, lowest).softmax(-1) * mask


class Attention(nn.Module):
    """Attention pooling: alpha = softmax(score / scale) over the tokens that may be read, and their mean under alpha.

    Each head has its own scores and averages its own part of the width. A text without any token to read gets a
    vector and weights of 0. Subclasses define `scores`.

    Args:
        heads: number of heads H, a divisor of the width D.
        scale: lambda, by which scores are divided.
    """

    query: nn.Parameter  # (H, D)

    def __init__(self, heads: int = 1, scale: float = 1.0):
        super().__init__()
        self.heads, self.scale = heads, scale

    def scores(self, states: Tensor) -> Tensor:
        """The attention scores (B, H, T) of states (B, T, D): the argument of the softmax, divided by the scale."""
        raise NotImplementedError

    def scaled(self, scores: Tensor) -> Tensor:
        """Scores of any shape, divided by the scale."""
        return scores if self.scale == 1 else scores / self.scale

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The pooled vector (B, D) and the attention weights (B, H, T)."""
        attention = attend(self.scores(states), mask[:, None])
        if self.heads == 1:  # one product; the calls of einsum take as long as it
            return (attention @ states).flatten(1), attention
        parts = states.unflatten(2, (self.heads, -1))
        return torch.einsum("bht,bthd->bhd", attention, parts).flatten(1), attention


class Dot(Attention):
    """Dot-product attention: score_j = h_j . V / lambda.

    Sun and Lu (2020, doi 10.18653/v1/2020.acl-main.312, Eq. 1): their DP over embeddings, DP-A over an affine encoder
    and DP-L over an LSTM.
    """

    def __init__(self, width: int, heads: int = 1, scale: float = 1.0):
        super().__init__(heads, scale)
        self.query = nn.Parameter(torch.empty(heads, width))  # V

    def scores(self, states: Tensor) -> Tensor:
        """h_j . V / lambda (B, H, T)."""
        return self.scaled((states @ self.query.T).transpose(1, 2))


class Additive(Attention):
    """Additive attention without biases: score_j = v . tanh(W h_j) / lambda.

    AD of Sun and Lu (2020, doi 10.18653/v1/2020.acl-main.312); with lambda = 1 the attention of VAT (Zhou et al.,
    2021, Findings of ACL-IJCNLP, Eq. 2).
    """

    def __init__(self, width: int, heads: int = 1, scale: float = 1.0):
        super().__init__(heads, scale)
        self.key = nn.Linear(width, width, bias=False)  # M_a of Sun and Lu, W_a of Zhou et al.
        self.query = nn.Parameter(torch.empty(heads, width))  # V, v_a

    def scores(self, states: Tensor) -> Tensor:
        """v . tanh(W h_j) / lambda (B, H, T)."""
        return self.scaled((self.key(states).tanh() @ self.query.T).transpose(1, 2))


class Mean(nn.Module):
    """The mean of the states; the limit of attention pooling for a large scale."""

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The pooled vector (B, D) and uniform attention weights (B, 1, T)."""
        attention = mask.to(states.dtype)
        attention = attention / attention.sum(1, keepdim=True).clamp(min=1)
        return torch.einsum("bt,btd->bd", attention, states), attention[:, None]


class First(nn.Module):
    """The state of the first token, such as BERT's [CLS], whatever the mask is."""

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The pooled vector (B, D) and attention weights (B, 1, T) that are 1 at the first token."""
        attention = torch.zeros_like(mask, dtype=states.dtype)
        attention[:, :1] = 1
        return states[:, 0], attention[:, None]


class Max(nn.Module):
    """The maximum of each unit over the tokens (LSTM-base of Zhou et al., 2021); it has no attention weights."""

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, None]:
        """The pooled vector (B, D), 0 for a text without any token to read, and None."""
        lowest = torch.finfo(states.dtype).min
        largest = states.masked_fill(~mask[..., None], lowest).amax(1)
        return largest.where(mask.any(1, keepdim=True), 0), None


WITHOUT_SCORES: dict[str, type[First] | type[Max] | type[Mean]] = {"first": First, "max": Max, "mean": Mean}


def pooling(name: str, width: int, heads: int = 1, scale: float = 1.0) -> Attention | First | Max | Mean:
    """A pooling by its name in `POOLINGS`.

    "variational" has the module of "additive"; a classifier with it also has a compressor and is trained by turns
    (VAT).

    Args:
        width: D, the width of the states.
        heads: number of attention heads, for a name in `ATTENDING`.
        scale: lambda of the attention, for a name in `ATTENDING`.
    """
    if name == "dot":
        return Dot(width, heads, scale)
    if name in ATTENDING:
        return Additive(width, heads, scale)
    return WITHOUT_SCORES[name]()
