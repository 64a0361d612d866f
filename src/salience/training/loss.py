"""Cross-entropy with one definition for hard and soft labels, with class weights and label smoothing.

Of one label a text, or of several: `loss_for` chooses by the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from salience.models.problem import OneLabel, problem_of


@dataclass(frozen=True)
class CrossEntropy:
    """The mean over texts of sum_c w_c y~_c (-log p_c), where y~ = (1 - smoothing) y + smoothing / C.

    The sum over texts is divided by their number. `F.cross_entropy` divides by the sum of weights in the batch for
    hard labels and by the number of texts for soft ones. Dividing by the number is linear in the label, so the loss of
    a mixed label is the mix of two losses, and it does not depend on how a batch is divided into smaller ones.

    Label smoothing: Szegedy et al. (2016), arXiv:1512.00567, section 7.

    Args:
        weights: one weight a class (C,), relative to a mean of 1 over the training data, as
            `salience.data.loss_weights.class_weights` gives them; None for equal weights.
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


@dataclass(frozen=True)
class BinaryCrossEntropy:
    """The mean over texts and labels of -w_c y~_c ln p_c - (1 - y~_c) ln (1 - p_c).

    For texts that can have several labels. y~ = (1 - smoothing) y + smoothing / 2, and p_c is the sigmoid of the logit
    of c. It is the loss of transformers for `problem_type="multi_label_classification"`. Like `CrossEntropy`, it is
    linear in the label. Labels can also be n_c and y_c, how much no and yes count, in place of 1 - y_c and y_c.

    Args:
        weights: one weight a label (C,), of the texts that have it, as `label_weights` of
            `salience.data.loss_weights` gives them; None for weights of 1.
        smoothing: part of every label that is spread evenly over yes and no.
    """

    weights: tuple[float, ...] | None = None
    smoothing: float = 0.0

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss, a scalar, of logits (B, C) for labels (B, C), 0 and 1 or soft; or (B, C, 2), no and yes."""
        labels = labels.to(logits.dtype)
        if labels.dim() == 3:
            return self.of_both(logits, labels)
        if self.smoothing:
            labels = torch.lerp(labels, torch.full_like(labels, 0.5), self.smoothing)
        weights = None if self.weights is None else logits.new_tensor(self.weights)
        return F.binary_cross_entropy_with_logits(logits, labels, pos_weight=weights)

    def of_both(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss of logits (B, C) for no and yes of each label (B, C, 2)."""
        if self.smoothing:
            labels = torch.lerp(labels, labels.mean(2, keepdim=True).expand_as(labels), self.smoothing)
        no, yes = labels.unbind(2)
        if self.weights is not None:
            yes = yes * logits.new_tensor(self.weights)
        return -(no * F.logsigmoid(-logits) + yes * F.logsigmoid(logits)).mean()


Loss = CrossEntropy | BinaryCrossEntropy  # of logits and labels


def loss_for(model: nn.Module, weights: tuple[float, ...] | None = None, smoothing: float = 0.0) -> Loss:
    """The loss that trains a classifier, by the `problem_type` of its configuration.

    Args:
        weights, smoothing: as of either loss.
    """
    kind = CrossEntropy if isinstance(problem_of(model), OneLabel) else BinaryCrossEntropy
    return kind(weights, smoothing)


cross_entropy = CrossEntropy()
