"""Cross-entropy with one definition for hard and soft labels, with class weights and label smoothing."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class CrossEntropy:
    """The mean over texts of sum_c w_c y~_c (-log p_c), where y~ = (1 - smoothing) y + smoothing / C.

    The sum over texts is divided by their number. `F.cross_entropy` divides by the sum of weights in the batch for
    hard labels and by the number of texts for soft ones. Dividing by the number is linear in the label, so the loss of
    a mixed label is the mix of two losses, and it does not depend on how a batch is divided into smaller ones.

    Label smoothing: Szegedy et al. (2016), arXiv:1512.00567, section 7.

    Args:
        weights: one weight a class (C,), relative to a mean of 1 over the training data, as
            `salience.data.labels.class_weights` gives them; None for equal weights.
        smoothing: part of every label that is spread evenly over all classes.
    """

    weights: tuple[float, ...] | None = None
    smoothing: float = 0.0

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss, a scalar, of logits (B, C) for labels (B,) long or label distributions (B, C)."""
        classes = logits.shape[1]
        if labels.dim() == 1:
            labels = F.one_hot(labels, classes)
        labels = labels.to(logits.dtype)
        if self.smoothing:
            labels = torch.lerp(labels, torch.full_like(labels, 1 / classes), self.smoothing)
        if self.weights is not None:
            labels = labels * torch.tensor(self.weights, dtype=labels.dtype, device=labels.device)
        return -(labels * F.log_softmax(logits, 1)).sum(1).mean()


cross_entropy = CrossEntropy()
