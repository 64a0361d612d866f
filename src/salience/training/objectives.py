"""Objectives: what a training step minimises, as a generator of losses.

Each loss is back-propagated before the next is requested. After the backward pass of the clean loss, the gradient that
a guide needs is available without another pass, and the first graph is freed before the second is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.explainer import CleanPassGuide
from salience.hooks.hooks import forward, reading
from salience.hooks.shared_layers import resuming, splitting, trunk_level
from salience.hooks.stages import unwrapped
from salience.mixing.forwarding import forward_mixed
from salience.mixing.method import Method
from salience.mixing.mix import Mix
from salience.training.kept_rows import kept_by_rows
from salience.training.loss import Loss, cross_entropy

Objective = Callable[[nn.Module, Batch], Iterator[Tensor]]


class Unmixed(Protocol):
    """An objective of training on unmixed texts, given the loss of logits and labels: `plain` is the usual one."""

    def __call__(self, model: nn.Module, batch: Batch, loss: Loss = ...) -> Iterator[Tensor]:
        """Yields losses, scalars."""
        ...


class VectorLoss(Protocol):
    """A loss on the vectors of the unmixed texts beside the classification loss, such as `Contrastive`.

    Attributes:
        weight: of the loss, at least 0 and below 1; the classification loss has the rest.
    """

    @property
    def weight(self) -> float:
        """The weight of the loss."""
        ...

    def of_vectors(self, vectors: Tensor, labels: Tensor) -> Tensor:
        """The loss, a scalar, of what the head's last linear map reads (B, D) and of labels (B,)."""
        ...


def plain(model: nn.Module, batch: Batch, loss: Loss = cross_entropy) -> Iterator[Tensor]:
    """Training on the unmixed texts: one loss, a scalar."""
    yield loss(forward(model, batch), labels_of(batch))


def mixed(
    method: Method, clean: float = 0.5, loss: Loss = cross_entropy, shared_trunk: bool = True,
    beside: VectorLoss | None = None,
) -> Objective:  # fmt: skip
    """Training on the unmixed texts and on their mixtures by `method`, with weights `clean` and 1 - `clean`.

    The default 0.5 is SSMix's recipe (arXiv:2106.08062, section 3.4): the mean over both halves of a batch and both
    directions of mixing. With 0, training uses mixtures only, as in AttentionMix and DropMix.

    A guide that is a `CleanPassGuide` gets its scores from the backward pass of the clean loss, at no cost. Other
    guides, and all guides if `clean` is 0, are called with the model first.

    Args:
        method: a mixing method; what depends on the data must be resolved.
        clean: weight of the loss on the unmixed texts, at least 0 and below 1.
        loss: maps logits (B, C) and labels, (B,) long, or (B, C), to a scalar.
        shared_trunk: where texts meet at a layer, compute the layers below it once for both losses. Their dropout
            masks are then the same for both. False runs two full passes.
        beside: a loss on the vectors of the unmixed texts. Both other losses are multiplied by the rest of its weight.
            A `CleanPassGuide` reads the gradient of it, too.

    Raises:
        ValueError: `clean` is not in [0, 1), or is 0 with a loss on the vectors of unmixed texts.
    """
    if not 0 <= clean < 1:
        raise ValueError(f"clean must be at least 0 and below 1, not {clean}; plain training is `plain`")
    if beside is not None and clean == 0:
        raise ValueError("a loss on the vectors of unmixed texts needs clean above 0")
    rest = 1.0 if beside is None else 1 - beside.weight

    def on_clean(model: nn.Module, batch: Batch) -> Tensor:
        if beside is None:
            return clean * loss(forward(model, batch), labels_of(batch))
        return with_vectors(model, batch, loss, clean * rest, beside)

    def on_mixed(model: nn.Module, batch: Batch, mix: Mix) -> Tensor:
        logits = forward_mixed(model, batch, mix)
        return (1 - clean) * rest * loss(logits, mix.targets(labels_of(batch), logits.shape[1]))

    def objective(model: nn.Module, batch: Batch) -> Iterator[Tensor]:
        guide = method.guide
        if clean > 0 and isinstance(guide, CleanPassGuide):
            with reading(model, guide.level) as seen, unsynchronised(model):
                yield on_clean(model, batch)
            mix = method(batch, guide.from_clean_pass(seen, batch))
            del seen  # and with it the embeddings of the first pass
            with kept_by_rows(model):
                yield on_mixed(model, batch, mix)
            return

        mix = method(batch, None if guide is None else guide(model, batch))
        level = trunk_level(model, mix.level) if clean > 0 and shared_trunk else None
        if level is not None:  # the layers up to `level` run once for both losses
            with splitting(model, level) as trunk, unsynchronised(model):
                yield on_clean(model, batch)
            with resuming(model, trunk):
                loss_on_mixed = on_mixed(model, batch, mix)
            yield loss_on_mixed
            return

        if clean > 0:
            with unsynchronised(model):
                yield on_clean(model, batch)
        with kept_by_rows(model):
            yield on_mixed(model, batch, mix)

    return objective


def with_vectors(model: nn.Module, batch: Batch, loss: Loss, weight: float, beside: VectorLoss) -> Tensor:
    """The sum of the classification loss and of a loss on the vectors, a scalar, from one forward pass.

    Args:
        weight: of the classification loss.
    """
    labels = labels_of(batch)
    with reading(model, "sentence") as read:
        logits = forward(model, batch)
    return weight * loss(logits, labels) + beside.weight * beside.of_vectors(read.value, labels)


def penalised(objective: Objective, penalty: Callable[[nn.Module], Tensor]) -> Objective:
    """An objective with one more loss: `penalty` of the model, a scalar such as a norm of its weights."""

    def with_penalty(model: nn.Module, batch: Batch) -> Iterator[Tensor]:
        yield from objective(model, batch)
        yield penalty(unwrapped(model))

    return with_penalty


def labels_of(batch: Batch) -> Tensor:
    """The labels of a batch, (B,) or (B, C).

    Raises:
        ValueError: it has none.
    """
    if batch.labels is None:
        raise ValueError("the batch has no labels, which training needs")
    return batch.labels


def unsynchronised(model: nn.Module) -> AbstractContextManager:
    """Inside the `with`, gradients are not averaged over processes; that is done once a step, after the last loss."""
    # DistributedDataParallel and the wrappers of accelerate have it; a model in a single process does not.
    return model.no_sync() if hasattr(model, "no_sync") else nullcontext()  # type: ignore[operator]
