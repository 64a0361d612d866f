"""Which class a score speaks of."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from salience.batch import Batch


def target_of(logits: Tensor, batch: Batch, target: Tensor | None) -> Tensor:
    """The class (B,) to explain: the one given, else the label, else what the model predicts."""
    if target is not None:
        return target.to(logits.device)
    return logits.argmax(1) if batch.labels is None else batch.labels


def log_probability(logits: Tensor, target: Tensor) -> Tensor:
    """ln p of each text's class (B,)."""
    return -F.cross_entropy(logits, target, reduction="none")
