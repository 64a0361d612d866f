"""What a training step minimises, as a generator of losses: each is back-propagated before the next is asked for.

That order is what makes guidance nearly free: after the clean loss's backward pass the gradient that a guide wants
lies at the embeddings, and the first graph is freed before the second is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.gradient import Gradient
from salience.hooks.hooks import forward, reading
from salience.hooks.shared_layers import resuming, splitting, trunk_level
from salience.hooks.stages import unwrapped
from salience.mixing.forwarding import forward_mixed
from salience.mixing.mix import Mix
from salience.training.loss import CrossEntropy, cross_entropy

Objective = Callable[[nn.Module, Batch], Iterator[Tensor]]


def plain(model: nn.Module, batch: Batch, loss: CrossEntropy = cross_entropy) -> Iterator[Tensor]:
    """Training on the texts as they are."""
    yield loss(forward(model, batch), batch.labels)


def mixed(
    method: Callable, clean: float = 0.5, loss: CrossEntropy = cross_entropy, shared_trunk: bool = True
) -> Objective:
    """`clean` parts of the loss on the texts as they are, the rest on their mixtures by `method`.

    One half is SSMix's recipe: the mean over both halves of a batch and both directions of mixing. 0 trains on
    mixtures only, as AttentionMix and DropMix do; a guide then runs a pass of its own.

    Where texts meet at a layer, both losses share the layers below it, and with them the noise of their dropout;
    `shared_trunk=False` runs two full passes.

    Raises:
        ValueError: `clean` is not in [0, 1).
    """
    if not 0 <= clean < 1:
        raise ValueError(f"clean must be at least 0 and below 1, not {clean}; plain training is `plain`")

    def on_clean(model: nn.Module, batch: Batch) -> Tensor:
        return clean * loss(forward(model, batch), batch.labels)

    def on_mixed(model: nn.Module, batch: Batch, mix: Mix) -> Tensor:
        logits = forward_mixed(model, batch, mix)
        return (1 - clean) * loss(logits, mix.targets(batch.labels, logits.shape[1]))

    def objective(model: nn.Module, batch: Batch) -> Iterator[Tensor]:
        guide = method.guide
        if clean > 0 and isinstance(guide, Gradient):  # the clean loss's own backward pass guides
            with reading(model, guide.level) as seen, unsynchronised(model):
                yield on_clean(model, batch)
            mix = method(batch, guide.lent(seen, batch))
            del seen  # and with it the embeddings of the first pass
            yield on_mixed(model, batch, mix)
            return

        mix = method(batch, None if guide is None else guide(model, batch))
        level = trunk_level(model, mix.level) if clean > 0 and shared_trunk else None
        if level is not None:  # the layers below it run once for both losses
            with splitting(model, level) as trunk, unsynchronised(model):
                yield on_clean(model, batch)
            with resuming(model, trunk):
                loss_on_mixed = on_mixed(model, batch, mix)
            yield loss_on_mixed
            return

        if clean > 0:
            with unsynchronised(model):
                yield on_clean(model, batch)
        yield on_mixed(model, batch, mix)

    return objective


def penalised(objective: Objective, penalty: Callable[[nn.Module], Tensor]) -> Objective:
    """An objective and, as one more loss, what the weights cost."""

    def with_penalty(model: nn.Module, batch: Batch) -> Iterator[Tensor]:
        yield from objective(model, batch)
        yield penalty(unwrapped(model))

    return with_penalty


def unsynchronised(model: nn.Module) -> AbstractContextManager:
    """Several processes agree on gradients once a step: after the last loss, not after this one."""
    return model.no_sync() if hasattr(model, "no_sync") else nullcontext()
