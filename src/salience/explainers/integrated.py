"""Integrated gradients (Sundararajan, Taly and Yan, ICML 2017, Eq. 1), from a text without words to the text."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.baseline import from_nothing
from salience.explainers.target import log_probability, target_of
from salience.hooks.hooks import evaluating, forward, rewriting
from salience.hooks.stages import unwrapped


@dataclass(frozen=True)
class IntegratedGradients:
    """(x - x0) . integral over a from 0 to 1 of d ln p(class) / dx at x0 + a (x - x0): what each token adds to ln p.

    x is the output of the embedding block, x0 the same with word rows of zeros. The scores of a text sum to ln p of
    the text minus ln p of the baseline, up to the error of the sum over `steps` midpoints.
    """

    steps: int = 32

    def __call__(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
        """Scores (B, T), 0 on padding and special tokens."""
        model = unwrapped(model)
        with evaluating(model):
            start, end, logits = from_nothing(model, batch)
            target = target_of(logits, batch, target)
            way = (end - start).float()
            total = torch.zeros_like(way)
            for step in range(self.steps):
                point = torch.lerp(start, end, (step + 0.5) / self.steps)
                total += self.slope(model, batch, target, point).float()
        return (way * total / self.steps).sum(-1).where(batch.segment > 0, 0)

    def slope(self, model: nn.Module, batch: Batch, target: Tensor, point: Tensor) -> Tensor:
        """d ln p / dx (B, T, D) at a point."""
        point = point.detach().requires_grad_()
        with torch.enable_grad(), rewriting(model, "embeddings", lambda own: point):
            found = log_probability(forward(model, batch), target).sum()
        return torch.autograd.grad(found, point)[0]
