"""R-Drop: two passes of each text with different dropout masks are to predict the same.

Half of Eq. 4 of the paper, which adds the losses of both passes up: the mean of their cross-entropies plus
alpha / 4 * (KL(P1 || P2) + KL(P2 || P1)). Halved, the loss is the usual cross-entropy where both passes agree, and
`alpha` is that of the paper.

The paper has one label a text. Where a text can have several, P is the distribution of each label over yes and no, and
the divergence is the mean over the labels, as the loss is.

Xiaobo Liang et al. (NeurIPS 2021), "R-Drop: Regularized Dropout for Neural Networks", arXiv:2106.14448, Eq. 1 to 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.hooks import forward
from salience.models.problem import SeveralLabels, problem_of
from salience.training.loss import Loss, cross_entropy
from salience.training.objectives import labels_of


@dataclass(frozen=True)
class RDrop:
    """An objective of training on unmixed texts. As in the paper, both passes are one pass of a batch of 2 B texts.

    Args:
        alpha: weight of the divergence, as in Eq. 4.
    """

    alpha: float

    def __call__(self, model: nn.Module, batch: Batch, loss: Loss = cross_entropy) -> Iterator[Tensor]:
        """One loss, a scalar."""
        labels = labels_of(batch)
        first, second = forward(model, twice(batch)).chunk(2)
        divergences = divergences_of_labels if isinstance(problem_of(model), SeveralLabels) else both_divergences
        divergence = divergences(first, second).mean()
        yield (loss(first, labels) + loss(second, labels)) / 2 + self.alpha / 4 * divergence


def both_divergences(first: Tensor, second: Tensor) -> Tensor:
    """KL(P1 || P2) + KL(P2 || P1) = sum_c (p1_c - p2_c) (log p1_c - log p2_c) for each text: (B,), in nats.

    Args:
        first, second: logits (B, C).
    """
    log_first, log_second = F.log_softmax(first, 1), F.log_softmax(second, 1)
    return ((log_first.exp() - log_second.exp()) * (log_first - log_second)).sum(1)


def divergences_of_labels(first: Tensor, second: Tensor) -> Tensor:
    """KL(P1 || P2) + KL(P2 || P1) of each label over yes and no: (B, C), in nats.

    Of a label with probabilities p1 and p2 and logits z1 and z2 it is (p1 - p2) (z1 - z2).

    Args:
        first, second: logits (B, C).
    """
    return (first.sigmoid() - second.sigmoid()) * (first - second)


def twice(batch: Batch) -> Batch:
    """A batch of 2 B texts: all texts, and all texts again."""
    parts = {name: part for name, part in vars(batch).items() if name != "labels" and part is not None}
    return Batch(**{name: torch.cat([part, part]) for name, part in parts.items()})
