"""Explanations from gradients (Simonyan et al., 2013, arXiv:1312.6034; Li et al., 2016, arXiv:1506.01066).

The same functions explain predictions and guide SSMix and DropMix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.explainer import Explainer, WithLogits, of_tokens, target_of
from salience.hooks.hooks import Reading, forward, reading
from salience.hooks.stages import unwrapped
from salience.models.problem import log_likelihood

__all__ = ["Explainer", "Gradient", "gradient", "gradient_map", "gradient_x_input"]


@dataclass(frozen=True)
class Gradient(WithLogits):
    """An explainer that reads the gradient of the cross-entropy at one level of the model.

    Called with a model, it runs a forward pass and a backward pass that ends at that level; the weights' gradients and
    the train or eval mode stay as they are. As a `CleanPassGuide` it reads the gradient that the clean pass of a
    training step has computed.

    Attributes:
        score: maps the gradient and the representation, both (B, T, D) float32, to scores (B, T) or (B, T, D).
        level: a key of `salience.stages(model)`.
    """

    score: Callable[[Tensor, Tensor], Tensor]
    level: str | int = "embeddings"

    def __post_init__(self):
        object.__setattr__(self, "__doc__", self.score.__doc__)  # lists of explainers show what the scores are

    def with_logits(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The scores, and the logits (B, C) of the same forward pass."""
        model = unwrapped(model)  # no gradient of a weight is computed, so processes have nothing to exchange
        with torch.enable_grad(), reading(model, self.level) as seen:
            logits = forward(model, batch)
            # A sum, so that the scores of a text do not depend on the size of the batch.
            loss = -log_likelihood(model, logits, target_of(logits, batch, target)).sum()
            (gradient,) = torch.autograd.grad(loss, seen.value)
        return self.masked(gradient, seen.value.detach(), batch), logits.detach()

    def from_clean_pass(self, clean: Reading, batch: Batch) -> Tensor:
        """The same scores, up to one positive factor, from the forward and backward pass of the clean loss."""
        return self.masked(clean.gradient, clean.value.detach(), batch)

    def masked(self, gradient: Tensor, representation: Tensor, batch: Batch) -> Tensor:
        """The scores of a gradient and a representation, both (B, T, D), with 0 on padding."""
        scores = self.score(*(of_tokens(each, batch).float() for each in (gradient, representation)))
        mask = batch.attention_mask.bool()
        return scores.where(mask if scores.dim() == 2 else mask[..., None], 0)


def norm(gradient: Tensor, representation: Tensor) -> Tensor:
    """The Euclidean norm of each token's gradient (B, T): SSMix's saliency (arXiv:2106.08062, section 2)."""
    return gradient.norm(dim=-1)


def absolute(gradient: Tensor, representation: Tensor) -> Tensor:
    """The absolute gradient of every unit (B, T, D): DropMix's saliency I (doi:10.18653/v1/2022.emnlp-main.57)."""
    return gradient.abs()


def times_input(gradient: Tensor, representation: Tensor) -> Tensor:
    """Gradient times input (B, T): a token's first-order contribution to ln p(class) (arXiv:1605.01713).

    The gradient is that of the loss -ln p, hence the minus sign.
    """
    return -(gradient * representation).sum(-1)


gradient = Gradient(norm)
gradient_map = Gradient(absolute)
gradient_x_input = Gradient(times_input)
