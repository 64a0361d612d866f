"""Pairings: who is mixed with whom. A pairing is a permutation of the batch, so both texts of a pair are in it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from salience.batch import Batch

Pairing = Callable[[Batch], Tensor]  # the partner of each text (B,) long, a permutation of the batch


def shuffle(batch: Batch) -> Tensor:
    """A random partner for each text, possibly itself (Zhang et al., 2018, arXiv:1710.09412): (B,) long."""
    # Drawn on the CPU: the same seed gives the same pairs on every device, and a resumed run repeats them.
    return torch.randperm(len(batch)).to(batch.input_ids.device)


def swap_halves(batch: Batch) -> Tensor:
    """The first half of the batch with the second, in both directions: (B,) long.

    This is a roll by half the batch (Yoon et al., 2021, SSMix, arXiv:2106.08062, section 3.4). In a batch of odd size
    no text is dropped: the pairs form a longer cycle.
    """
    position = torch.arange(len(batch), device=batch.input_ids.device)
    return position.roll(-(len(batch) // 2))


def neighbours(batch: Batch) -> Tensor:
    """Rows 0 and 1, 2 and 3, and so on: (B,) long. A last row without a neighbour is its own partner.

    The pairs stay the same if the batch is cut into pieces of even size. With this pairing, gradient accumulation and
    training on several processes give exactly the result of one large batch.
    """
    position = torch.arange(len(batch), device=batch.input_ids.device)
    other = position ^ 1
    return torch.where(other < len(batch), other, position)
