"""The class that a score refers to."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from salience.batch import Batch


def target_of(logits: Tensor, batch: Batch, target: Tensor | None) -> Tensor:
    """The classes to explain (B,) long: `target`, or else the labels, or else the predictions of `logits` (B, C)."""
    if target is not None:
        return target.to(logits.device)
    return logits.argmax(1) if batch.labels is None else batch.labels


def log_probability(logits: Tensor, target: Tensor) -> Tensor:
    """ln p(class) of each text (B,), from `logits` (B, C) and `target` (B,)."""
    return -F.cross_entropy(logits, target, reduction="none")
