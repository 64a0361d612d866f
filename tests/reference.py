"""The papers' formulas as slow, plain loops. Nothing here uses the library: it is what the library is held against."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-9) -> bool:
    """Equal everywhere, but for an absolute difference: no allowance that grows with the numbers."""
    return torch.allclose(found.double(), expected.double(), rtol=0, atol=tolerance)


def span_length(own: int, other: int, window: float) -> int:
    """SSMix section 2: max(min([lambda_0 |x_A|], |x_B|), 1), the bracket rounded down; nothing where a text is empty.

    The 1e-9 is for products such as 100 * 0.29, which is 28.999999999999996 in floating point.
    """
    if own == 0 or other == 0:
        return 0
    return max(min(math.floor(window * own + 1e-9), other), 1)


def best_start(scores: list[float], length: int, smallest: bool) -> int:
    """Where the window with the smallest or largest mean begins; the first of equals."""
    best, at = None, None
    for start in range(len(scores) - length + 1):
        mean = math.fsum(scores[start : start + length]) / length
        if best is None or (mean < best if smallest else mean > best):
            best, at = mean, start
    return at


def ssmix_reference(batch, scores: Tensor, window: float, partner: Tensor) -> tuple[Tensor, Tensor]:
    """The mixed ids (B, T), and how much of one's own label remains (B,)."""
    mixed, shares = batch.input_ids.clone(), []
    for row in range(len(batch.input_ids)):
        other = int(partner[row])
        finite = [all(math.isfinite(value) for value in scores[one].tolist()) for one in (row, other)]
        taken, words = 0, 0
        for part in (1, 2):  # the two texts of a pair are mixed on their own, first with first, second with second
            here = [place for place, value in enumerate(batch.segment[row].tolist()) if value == part]
            there = [place for place, value in enumerate(batch.segment[other].tolist()) if value == part]
            words += len(here)
            length = span_length(len(here), len(there), window) if all(finite) else 0
            if length == 0:
                continue
            least = best_start([float(scores[row, place]) for place in here], length, smallest=True)
            most = best_start([float(scores[other, place]) for place in there], length, smallest=False)
            for step in range(length):
                mixed[row, here[least + step]] = batch.input_ids[other, there[most + step]]
            taken += length
        shares.append(1 - taken / words if words else 1.0)
    return mixed, torch.tensor(shares, dtype=torch.float64)


def soft_cross_entropy(logits: Tensor, own: Tensor, other: Tensor, share: Tensor) -> Tensor:
    """share CE(z, y_A) + (1 - share) CE(z, y_B), one value an example."""
    losses = []
    for row in range(len(logits)):
        logarithms = logits[row] - torch.logsumexp(logits[row], dim=0)
        losses.append(-share[row] * logarithms[own[row]] - (1 - share[row]) * logarithms[other[row]])
    return torch.stack(losses)
