"""The class that a score refers to."""

from __future__ import annotations

from torch import Tensor, nn

from salience.batch import Batch
from salience.models.problem import problem_of


def target_of(logits: Tensor, batch: Batch, target: Tensor | None) -> Tensor:
    """The classes to explain (B,) long: `target`, or else the labels, or else the predictions of `logits` (B, C).

    The labels of texts that can have several are 0 and 1 (B, C). A guide then explains all of them together.
    """
    if target is not None:
        return target.to(logits.device)
    return logits.argmax(1) if batch.labels is None else batch.labels


def log_probability(model: nn.Module, logits: Tensor, target: Tensor) -> Tensor:
    """ln p(class) of each text (B,), from the `logits` (B, C) of a model and `target` (B,), or labels (B, C)."""
    return problem_of(model).log_likelihood(logits, target)
