"""How strongly the loss reacts to each token (Simonyan et al., 2013; Li et al., 2016): explanations from gradients.

The same function shows SSMix a span and shows a reader what decided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.explainer import Explainer
from salience.explainers.target import log_probability, target_of
from salience.hooks.hooks import Reading, forward, reading
from salience.hooks.stages import unwrapped

__all__ = ["Explainer", "Gradient", "gradient", "gradient_map", "gradient_x_input"]


@dataclass(frozen=True)
class Gradient:
    """An explainer that reads the gradient of the cross-entropy at one level of the model.

    Called by itself it runs a forward pass and a backward pass that ends at that level: the weights' gradients and
    the train or eval mode stay as they are. Where a training step has run its own backward pass, `lent` reads the
    gradient that lies there, which costs nothing.
    """

    score: Callable[[Tensor, Tensor], Tensor]  # (gradient, representation), both (B, T, D)
    level: str | int = "embeddings"

    def __call__(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
        """Scores for `target` (B,): given, else the labels, else what the model predicts."""
        model = unwrapped(model)  # a gradient of activations alone is nothing that processes need to agree on
        with torch.enable_grad(), reading(model, self.level) as seen:
            logits = forward(model, batch)
            # Summed: a text's scores do not depend on how many others are in the batch.
            loss = -log_probability(logits, target_of(logits, batch, target)).sum()
            (gradient,) = torch.autograd.grad(loss, seen.value)
        return self.masked(gradient, seen.value.detach(), batch)

    def from_clean_pass(self, clean: Reading, batch: Batch) -> Tensor:
        """The same scores, up to one positive factor a text, from a backward pass that has been run already."""
        return self.masked(clean.gradient, clean.value.detach(), batch)

    def masked(self, gradient: Tensor, representation: Tensor, batch: Batch) -> Tensor:
        scores = self.score(gradient.float(), representation.float())
        mask = batch.attention_mask.bool()
        return scores.where(mask if scores.dim() == 2 else mask[..., None], 0)


def norm(gradient: Tensor, representation: Tensor) -> Tensor:
    """The Euclidean length of each token's gradient (B, T), SSMix's saliency."""
    return gradient.norm(dim=-1)


def absolute(gradient: Tensor, representation: Tensor) -> Tensor:
    """The absolute gradient of every unit (B, T, D), DropMix's saliency I."""
    return gradient.abs()


def times_input(gradient: Tensor, representation: Tensor) -> Tensor:
    """What a token adds to ln p of the class, to first order (B, T): the loss's gradient, sign turned, times input."""
    return -(gradient * representation).sum(-1)


gradient = Gradient(norm)
gradient_map = Gradient(absolute)
gradient_x_input = Gradient(times_input)
