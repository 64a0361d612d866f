"""Random scores: what every explanation has to be better than."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from salience.batch import Batch


def random(model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
    """Uniform scores (B, T) from the global random state; 0 on padding and special tokens."""
    drawn = torch.rand(batch.input_ids.shape).to(batch.input_ids.device)
    return drawn * (batch.segment > 0)
