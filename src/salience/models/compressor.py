"""VAT's compressor (Zhou et al., Findings of ACL 2021): a variational information bottleneck behind the pooling."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SMALLEST = 1e-6  # of a standard deviation


class Compressor(nn.Module):
    """z = u + sigma * epsilon, epsilon ~ N(0, I), with u and sigma from the pooled vector R, and a class from z.

    u and sigma have a hidden layer each, and so has the classifier of z; sigma is a standard deviation. With
    `classes=None` there is no such classifier, and z is for the learner's.
    """

    def __init__(self, width: int, latent: int, classes: int | None):
        super().__init__()
        self.mean = perceptron(width, latent)
        self.deviation = perceptron(width, latent)
        self.classifier = None if classes is None else perceptron(latent, classes)

    def forward(self, pooled: Tensor) -> tuple[Tensor, Tensor]:
        """One sample of z a text (B, Z), and how many nats z keeps of each text (B,): its divergence."""
        mean, deviation = self.mean(pooled), F.softplus(self.deviation(pooled)) + SMALLEST
        return sample(mean, deviation), divergence(mean, deviation)


def sample(mean: Tensor, deviation: Tensor) -> Tensor:
    return mean + deviation * torch.randn_like(mean)


def divergence(mean: Tensor, deviation: Tensor) -> Tensor:
    """KL(N(mean, diag(deviation^2)) || N(0, I)) (B,): 1/2 sum (u^2 + sigma^2 - 1 - ln sigma^2)."""
    square = deviation.square()
    return 0.5 * (mean.square() + square - 1 - square.log()).sum(-1)


def perceptron(inputs: int, outputs: int) -> nn.Sequential:
    """A hidden layer of tanh units, as wide as its input."""
    return nn.Sequential(nn.Linear(inputs, inputs), nn.Tanh(), nn.Linear(inputs, outputs))
