"""From the states of a text's tokens to one vector: attention, and what it is compared with.

A pooling is called with states (B, T, D) and a mask (B, T), true where a token may be read, and gives the pooled
vector (B, D) with its attention (B, H, T): 0 where the mask is false, 1 in sum over the others. Only `First` looks at
a place whatever the mask says.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def attend(scores: Tensor, mask: Tensor) -> Tensor:
    """The softmax over the last dimension of what the mask lets through; 0 where it lets nothing through."""
    lowest = torch.finfo(scores.dtype).min  # finite: where nothing may be read, no gradient becomes NaN
    return scores.masked_fill(~mask, lowest).softmax(-1) * mask


class Attention(nn.Module):
    """alpha = softmax(score / scale) over the tokens that may be read, and their mean by alpha.

    With several heads each has scores of its own and averages its own part of the width. A text without any token
    gets 0 everywhere.
    """

    def __init__(self, heads: int = 1, scale: float = 1.0):
        super().__init__()
        self.heads, self.scale = heads, scale

    def scores(self, states: Tensor) -> Tensor:
        """How much each token would be attended to, before the softmax: (B, H, T)."""
        raise NotImplementedError

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        attention = attend(self.scores(states), mask[:, None])
        parts = states.unflatten(2, (self.heads, -1))
        return torch.einsum("bht,bthd->bhd", attention, parts).flatten(1), attention


class Dot(Attention):
    """score_j = h_j . V / lambda (Sun and Lu, 2020, Eq. 1): DP, and with other encoders DP-A and DP-L."""

    def __init__(self, width: int, heads: int = 1, scale: float = 1.0):
        super().__init__(heads, scale)
        self.query = nn.Parameter(torch.empty(heads, width))  # V

    def scores(self, states: Tensor) -> Tensor:
        return (states @ self.query.T).transpose(1, 2) / self.scale


class Additive(Attention):
    """score_j = v . tanh(W h_j) / lambda, without biases: AD (Sun and Lu, 2020), with lambda 1 VAT's (2021, Eq. 1)."""

    def __init__(self, width: int, heads: int = 1, scale: float = 1.0):
        super().__init__(heads, scale)
        self.key = nn.Linear(width, width, bias=False)  # M_a, W_a
        self.query = nn.Parameter(torch.empty(heads, width))  # V, v_a

    def scores(self, states: Tensor) -> Tensor:
        return (self.key(states).tanh() @ self.query.T).transpose(1, 2) / self.scale


class Mean(nn.Module):
    """Every token counts the same; what dot attention becomes with a large scale."""

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        attention = mask.to(states.dtype)
        attention = attention / attention.sum(1, keepdim=True).clamp(min=1)
        return torch.einsum("bt,btd->bd", attention, states), attention[:, None]


class First(nn.Module):
    """The first token alone: BERT's [CLS]."""

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        attention = torch.zeros_like(mask, dtype=states.dtype)
        attention[:, :1] = 1
        return states[:, 0], attention[:, None]


class Max(nn.Module):
    """The largest value of each unit over the tokens (LSTM-base); there is no attention to show."""

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, None]:
        lowest = torch.finfo(states.dtype).min
        largest = states.masked_fill(~mask[..., None], lowest).amax(1)
        return largest.where(mask.any(1, keepdim=True), 0), None


ATTENDING = ("dot", "additive", "variational")
POOLINGS = ("first", "max", "mean", *ATTENDING)


def pooling(name: str, width: int, heads: int = 1, scale: float = 1.0) -> nn.Module:
    """The pooling of that name; "variational" attends as "additive" does, and is trained otherwise (VAT)."""
    if name in ATTENDING:
        return (Dot if name == "dot" else Additive)(width, heads, scale)
    return {"first": First, "max": Max, "mean": Mean}[name]()
