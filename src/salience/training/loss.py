"""Cross-entropy with one definition for hard and soft labels, class weights and label smoothing included."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class CrossEntropy:
    """The mean over texts of sum_c w_c y~_c (-log p_c), for labels (B,) or label distributions (B, C).

    Weights are relative to the training data's mean, which `data.class_weights` sets to 1, and the sum is divided by
    the number of texts. `F.cross_entropy` divides by the batch's sum of weights for hard labels and by the number of
    texts for soft ones. Dividing by the number is linear in the label, so that the loss of a mixed label is the mix of
    two losses, and it does not depend on how a batch is cut into smaller ones.
    """

    weights: tuple[float, ...] | None = None  # (C,)
    smoothing: float = 0.0  # y~ = (1 - smoothing) y + smoothing / C

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
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
