"""Integrated gradients (Sundararajan, Taly and Yan, ICML 2017, Eq. 1), from word rows of zeros to the text's own."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.explain.target import log_probability, target_of
from salience.levels import unwrapped
from salience.sites import evaluating, forward, rewriting


@dataclass(frozen=True)
class IntegratedGradients:
    """x . integral over a from 0 to 1 of d ln p(class) / dx at a x: what each token adds to ln p, against none.

    The scores of a text sum to ln p of the text minus ln p of the baseline, up to the error of the sum over `steps`
    midpoints. The baseline has its special tokens and positions, and words without meaning: rows of zeros.
    """

    steps: int = 32

    def __call__(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
        """Scores (B, T), 0 on padding and special tokens."""
        model = unwrapped(model)
        with evaluating(model):
            with torch.no_grad():
                target = target_of(forward(model, batch), batch, target)
            words = (batch.segment > 0)[..., None]
            total: Tensor | float = 0.0
            for step in range(self.steps):
                total = total + self.slope(model, batch, target, words, (step + 0.5) / self.steps)
            return (total / self.steps).where(words[..., 0], 0)

    def slope(self, model: nn.Module, batch: Batch, target: Tensor, words: Tensor, part: float) -> Tensor:
        """x . d ln p / dx (B, T), at the words' rows times `part`."""
        seen: list[Tensor] = []

        def shrink(rows: Tensor) -> Tensor:
            seen.extend([rows.detach(), torch.where(words, part * rows, rows).detach().requires_grad_()])
            return seen[1]

        with torch.enable_grad(), rewriting(model, "words", shrink):
            found = log_probability(forward(model, batch), target).sum()
        (gradient,) = torch.autograd.grad(found, seen[1])
        return (gradient.float() * seen[0].float()).sum(-1)
