"""Who is mixed with whom: a pairing is a permutation of the batch, so a pair needs no second forward pass."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from salience.batch import Batch

Pairing = Callable[[Batch], Tensor]  # (B,) long, a permutation


def shuffle(batch: Batch) -> Tensor:
    """A random partner in the same batch, possibly oneself (Zhang et al., 2018)."""
    # Drawn on the CPU: the same seed gives the same pairs on every device, and a resumed run repeats them.
    return torch.randperm(len(batch)).to(batch.input_ids.device)


def swap_halves(batch: Batch) -> Tensor:
    """The first half of the batch with the second, back and forth (Yoon et al., 2021, section 3.4).

    A roll by half the batch: an odd batch needs no example dropped, its pairs form a longer cycle.
    """
    position = torch.arange(len(batch), device=batch.input_ids.device)
    return position.roll(-(len(batch) // 2))


def neighbours(batch: Batch) -> Tensor:
    """Rows 0 and 1, 2 and 3, ...: the same pairs however a batch is cut into even pieces.

    This is the pairing under which gradient accumulation and several processes repeat one large batch exactly.
    """
    position = torch.arange(len(batch), device=batch.input_ids.device)
    other = position ^ 1
    return torch.where(other < len(batch), other, position)
