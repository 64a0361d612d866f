"""What an explainer is, and what it needs to guide a mixing method without a pass of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.attention import Reached
from salience.hooks.hooks import Reading, forward, reading, rewriting

# (model, batch, target=None) -> scores (B, T), or (B, T, D) for the units of a representation; 0 on padding.
# `target` (B,) long are the classes to explain; the labels if it is None, or the predictions if there are none.
Explainer = Callable[..., Tensor]


class WithLogits(ABC):
    """An explainer whose own pass also gives the model's prediction, which saves a pass where both are wanted."""

    @abstractmethod
    def with_logits(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The scores, as a call of the explainer gives them, and the logits (B, C) of the batch."""

    def __call__(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
        """Scores (B, T) or (B, T, D), 0 on padding. The model's mode and its weights' gradients stay as they are."""
        return self.with_logits(model, batch, target)[0]


@runtime_checkable
class CleanPassGuide(Protocol):
    """A guide whose scores can be read from the clean pass of a training step, which saves a pass of its own.

    What the clean pass of the unmixed texts gives at `level`, a key of `salience.stages(model)`, is kept for it. Any
    explainer with these two members is used in this way; the others are called with the model before the mixed pass.
    """

    @property
    def level(self) -> str | int: ...

    def from_clean_pass(self, clean: Reading, batch: Batch) -> Tensor:
        """Scores (B, T) or (B, T, D) from the representation at `level` and the loss's gradient there; 0 on padding.

        The loss may be scaled, so scores should not depend on the scale of the gradient but for one positive factor.
        """
        ...


def target_of(logits: Tensor, batch: Batch, target: Tensor | None) -> Tensor:
    """The classes to explain: `target` (B,), or else the labels (B,) or (B, C), or else the predicted ones."""
    if target is not None:
        return target.to(logits.device)
    return logits.argmax(1) if batch.labels is None else batch.labels


def of_tokens(values: Tensor, batch: Batch) -> Tensor:
    """Values (B, T, ...) from those of the embeddings, which are more where a model pads texts itself, as Longformer.

    Raises:
        ValueError: the model arranges its embeddings otherwise, as XLNet does.
    """
    texts, tokens = batch.input_ids.shape
    if len(values) != texts or values.shape[1] < tokens:
        raise ValueError("its embeddings are not one for each token of each text")
    return values[:, :tokens]


@torch.no_grad()
def from_nothing(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """The output (B, T, D) of the embedding block with word embeddings of zeros, as it is, and the logits (B, C).

    Positions and special tokens are the same in both. The outputs are taken after the block's LayerNorm, which gives
    the same result for x and a x: in models that add nothing to word embeddings (DeBERTa, ModernBERT), the points on
    a straight path before it would not differ. The pass with zeros ends at the block.
    """
    with reading(model, "embeddings") as usual:
        logits = forward(model, batch)
    empty: list[Tensor] = []

    def keep(value: Tensor) -> Tensor:
        empty.append(value)
        raise Reached

    def without_words(rows: Tensor) -> Tensor:
        of_tokens(rows, batch)
        words = nn.functional.pad(batch.segment > 0, (0, rows.shape[1] - batch.segment.shape[1]))
        return rows.masked_fill(words[..., None], 0)

    empty_words = rewriting(model, "words", without_words)
    with suppress(Reached), empty_words, rewriting(model, "embeddings", keep):
        forward(model, batch)
    return empty[0], usual.value, logits
