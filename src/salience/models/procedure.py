"""The training procedure that a model needs."""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

from torch import nn

from salience.hooks.stages import unwrapped

Procedure = Literal["standard", "turns"]


@runtime_checkable
class NamesProcedure(Protocol):
    """A model that names the training procedure it needs, as `AttentionClassifier` does.

    "standard" trains all weights together. "turns" alternates between a learner and a compressor (VAT); a model that
    names it is an `AttentionClassifier` whose `compressor` is not None.
    """

    @property
    def procedure(self) -> Procedure:
        """The name of the procedure."""


def required_procedure(model: nn.Module) -> Procedure:
    """The training procedure that a model needs: "standard" for every model that does not name another one.

    Args:
        model: any classifier, also one that is wrapped for parallel training, compiled or extended with adapters.
    """
    model = unwrapped(model)
    return model.procedure if isinstance(model, NamesProcedure) else "standard"
