"""Supervised contrastive learning beside the cross-entropy: texts of a class are to have similar vectors.

    L = (1 - lambda) L_CE + lambda L_SCL                                                                        (1)
    L_SCL = sum_i -1 / (N_yi - 1) sum_(j != i, yj = yi) log exp(z_i . z_j / tau) / sum_(k != i) exp(z_i . z_k / tau)
                                                                                                                (3)

z is the vector of a text, divided by its length: what the head's last linear map reads. N_yi is the number of texts of
the class of text i in the batch. A text that is alone in its class adds 0. Here L_SCL is the mean over the texts, as
L_CE is in Eq. 2, so that lambda does not depend on the size of the batch; Eq. 3 is B times as large.

Beliz Gunel, Jingfei Du, Alexis Conneau and Ves Stoyanov (ICLR 2021), "Supervised Contrastive Learning for Pre-trained
Language Model Fine-tuning", arXiv:2011.01403.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from salience.batch import Batch
from salience.models.precision import exactly
from salience.training.loss import Loss, cross_entropy
from salience.training.objectives import with_vectors


@dataclass(frozen=True)
class Contrastive:
    """An objective of training on unmixed texts, and a loss beside that of training on mixtures.

    Args:
        weight: lambda, at least 0 and below 1.
        temperature: tau.
    """

    weight: float
    temperature: float

    def __call__(self, model: nn.Module, batch: Batch, loss: Loss = cross_entropy) -> Iterator[Tensor]:
        """One loss, a scalar."""
        yield with_vectors(model, batch, loss, 1 - self.weight, self)

    def of_vectors(self, vectors: Tensor, labels: Tensor) -> Tensor:
        """L_SCL, a scalar, of vectors (B, D) and labels (B,)."""
        return contrastive_loss(vectors, labels, self.temperature)


def contrastive_loss(vectors: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """L_SCL of Eq. 3 divided by the number of texts, a scalar. It is 0 for a single text.

    Args:
        vectors: (B, D), of any length above 0. They are compared in fp32 at least, also inside autocast.
        labels: (B,) long.
        temperature: tau.
    """
    with exactly():
        directions = F.normalize(vectors.to(torch.promote_types(vectors.dtype, torch.float32)), dim=1)
        itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
        same = (labels[:, None] == labels) & ~itself
        similarity = directions @ directions.T / temperature
        lowest = torch.finfo(similarity.dtype).min  # not -inf, whose product with 0 is no number
        log_share = similarity.masked_fill(itself, lowest).log_softmax(1)
        return -((log_share * same).sum(1) / same.sum(1).clamp(min=1)).mean()
