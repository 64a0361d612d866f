"""Which part of a text: best spans and random places, for a whole batch without a loop."""

from __future__ import annotations

import torch
from torch import Tensor


def part_length(length: Tensor, part: float) -> Tensor:
    """How many tokens `part` of a text of `length` tokens is, rounded down: (B,) long.

    The guard keeps a product that is a whole number in exact arithmetic from losing one in floating point
    (int(100 * 0.29) is 28).
    """
    return (length.double() * part + 1e-9).long()


def best_span(scores: Tensor, among: Tensor, width: Tensor) -> Tensor:
    """Where the contiguous span of the highest mean score starts: (B,) long.

    Args:
        scores: (B, T), any float.
        among: (B, T) bool, the places a span may cover; they are contiguous in each row.
        width: (B,) long, the span's length; at most the number of allowed places of its row.

    The first of equal spans wins. A row without an allowed place gives 0, which a span of length 0 never reads.
    """
    # Windows are summed one by one, in float64: with differences of running sums, equal windows would differ in the
    # last bit and ties would not go to the first. (B, T, W) is small, W being a tenth of a text.
    widest = max(int(width.max()), 1)
    offset = torch.arange(widest, device=scores.device)
    used = (offset < width[:, None])[:, None]  # (B, 1, W)
    value = (windows(torch.where(among, scores, 0).double(), widest) * used).sum(2)  # (B, T)
    inside = (windows(among, widest) | ~used).all(2)
    return value.masked_fill(~inside, -torch.inf).argmax(1)


def windows(values: Tensor, width: int) -> Tensor:
    """What stands at t, t + 1, ..., t + width - 1, zeros past the end: (B, T) -> (B, T, width)."""
    return torch.nn.functional.pad(values, (0, width - 1)).unfold(1, width, 1)
