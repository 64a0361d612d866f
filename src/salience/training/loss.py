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
    """The mean over texts of -sum_c z~_c log p_c, where z~ = (1 - smoothing) z + smoothing mean(z) and z_c = w_c y_c.

    So the smoothed loss of a text is multiplied by the weight of its label. Were the smoothed label weighted, the part
    of a rare class in the label of every text would have the weight of that class, and could be the largest one.

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
        logits = precise(logits)
        labels = labels.to(logits.dtype)
        if self.weights is not None:
            labels = labels * logits.new_tensor(self.weights)
        if self.smoothing:
            labels = torch.lerp(labels, labels.mean(1, keepdim=True).expand_as(labels), self.smoothing)
        return -(labels * F.log_softmax(logits, 1)).sum(1).mean()


@dataclass(frozen=True)
class BinaryCrossEntropy:
    """The mean over texts and labels of -yes_c ln p_c - no_c ln (1 - p_c), where yes_c = w_c y_c and no_c = 1 - y_c.

    For texts that can have several labels; p_c is the sigmoid of the logit of c. It is the loss of transformers for
    `problem_type="multi_label_classification"`. With smoothing, both yes_c and no_c have that part of their mean in
    place of their own. Like `CrossEntropy`, it is linear in the label.

    Args:
        weights: one weight a label (C,), of the texts that have it, as `label_weights` of
            `salience.data.loss_weights` gives them; None for weights of 1.
        smoothing: part of every label that is spread evenly over yes and no.
    """

    weights: tuple[float, ...] | None = None
    smoothing: float = 0.0

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss, a scalar, of logits (B, C) for labels (B, C), 0 and 1 or soft."""
        logits = precise(logits)
        labels = labels.to(logits.dtype)
        no, yes = 1 - labels, labels
        if self.weights is not None:
            yes = yes * logits.new_tensor(self.weights)
        if self.smoothing:
            mean = (no + yes) / 2
            no, yes = torch.lerp(no, mean, self.smoothing), torch.lerp(yes, mean, self.smoothing)
        return -(no * F.logsigmoid(-logits) + yes * F.logsigmoid(logits)).mean()


def precise(logits: Tensor) -> Tensor:
    """Logits in float32 at least: in a shorter format, the shares of mixed labels would no longer sum to 1."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


Loss = CrossEntropy | BinaryCrossEntropy  # of logits and labels


def loss_for(model: nn.Module, weights: tuple[float, ...] | None = None, smoothing: float = 0.0) -> Loss:
    """The loss that trains a classifier, by the `problem_type` of its configuration.

    Args:
        weights, smoothing: as of either loss.
    """
    kind = CrossEntropy if isinstance(problem_of(model), OneLabel) else BinaryCrossEntropy
    return kind(weights, smoothing)


cross_entropy = CrossEntropy()
