"""What an explainer is, and what it needs to guide a mixing method without a pass of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.hooks import Reading

# (model, batch, target=None) -> scores (B, T), or (B, T, D) for the units of a representation; 0 on padding.
# `target` (B,) long are the classes to explain; the labels if it is None, or the predictions if there are none.
Explainer = Callable[..., Tensor]


@runtime_checkable
class WithLogits(Protocol):
    """An explainer whose own pass also gives the model's prediction, which saves a pass where both are wanted."""

    def with_logits(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The scores, as a call of the explainer gives them, and the logits (B, C) of the batch."""
        ...


@runtime_checkable
class CleanPassGuide(Protocol):
    """A guide whose scores can be read from the clean pass of a training step, which saves a pass of its own.

    A training step with a clean loss runs the model forward and backward on the unmixed texts. What the guide wants to
    see is kept: the representation at `level` and the gradient of the loss there. Any explainer with these two members
    is used in this way; the others are called with the model before the mixed pass.
    """

    @property
    def level(self) -> str | int:
        """The level to keep, a key of `salience.stages(model)`."""
        ...

    def from_clean_pass(self, clean: Reading, batch: Batch) -> Tensor:
        """Scores (B, T) or (B, T, D); 0 on padding.

        The clean loss may be scaled (by the batch size, its weight or mixed precision), so scores should not depend on
        the scale of the gradient but for one positive factor.

        Args:
            clean: `value` is the representation (B, T, D) at `level`, `gradient` the loss's gradient there.
        """
        ...
