"""The compressor of VAT (Zhou et al., 2021, Findings of ACL-IJCNLP, "Attending via both Fine-tuning and Compressing").

A variational information bottleneck on the pooled vector.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SMALLEST = 1e-6  # lower bound of a standard deviation


class Compressor(nn.Module):
    """Compresses the pooled vector R (B, D) into z = u + sigma * epsilon (B, Z), epsilon ~ N(0, I), and classifies z.

    Zhou et al. (2021, section 3.3, Eq. 9). u and sigma are computed from R by a perceptron with one hidden layer each,
    and z is classified by another one. The paper leaves open how sigma, a standard deviation here, is kept positive;
    here it is the softplus of a perceptron's output.

    Args:
        width: D, the width of R.
        latent: Z, the width of z.
        classes: C, the number of classes; None builds no classifier, and z is classified by the learner's head.
    """

    def __init__(self, width: int, latent: int, classes: int | None):
        super().__init__()
        self.latent = latent
        self.mean = perceptron(width, latent)
        self.deviation = perceptron(width, latent)
        self.classifier = None if classes is None else perceptron(latent, classes)

    def forward(self, pooled: Tensor) -> tuple[Tensor, Tensor]:
        """One sample of z for each text (B, Z), and its KL divergence from the prior N(0, I) in nats (B,)."""
        mean, deviation = self.mean(pooled), F.softplus(self.deviation(pooled)) + SMALLEST
        return sample(mean, deviation), divergence(mean, deviation)


def sample(mean: Tensor, deviation: Tensor) -> Tensor:
    """One sample of N(mean, diag(deviation^2)), reparametrised; all three have the shape (B, Z)."""
    return mean + deviation * torch.randn_like(mean)


def divergence(mean: Tensor, deviation: Tensor) -> Tensor:
    """KL(N(mean, diag(deviation^2)) || N(0, I)) in nats (B,), for `mean` and `deviation` (B, Z).

    It is 1/2 sum (u^2 + sigma^2 - 1 - ln sigma^2), the KL term of Zhou et al. (2021, Eq. 8).
    """
    square = deviation.square()
    return 0.5 * (mean.square() + square - 1 - square.log()).sum(-1)


def perceptron(inputs: int, outputs: int) -> nn.Sequential:
    """A perceptron with one hidden layer of tanh units, which is as wide as the input."""
    return nn.Sequential(nn.Linear(inputs, inputs), nn.Tanh(), nn.Linear(inputs, outputs))
