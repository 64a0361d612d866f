"""Sharing the layers below a level between two forward passes, so that they are computed and back-propagated once.

The first pass is cut at the level: its backward pass ends there and leaves a gradient on the cut. The second pass
starts from the same states without the cut, and its backward pass adds that gradient and takes it through the layers
below. The graphs of the two passes above the level are never in memory together. Hooks that wait for the gradients of
a backward pass, such as those of `DistributedDataParallel`, get all gradients in the second one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

from torch import Tensor, nn

from salience.hooks.hooks import observing, rewriting_arguments
from salience.hooks.stages import layers_of, unwrapped, whole_level


class Trunk:
    """What the layers up to a level returned in the first pass, and the tensors at which that pass was cut."""

    def __init__(self, level: str | int):
        self.level = level  # that of the last shared layer
        self.result: Any = None  # what that layer returned: a tensor, or a tuple that begins with it
        self.cuts: list[tuple[Tensor, Tensor]] = []  # tensors with the graph of the shared layers, and copies without

    def cut(self, value: Tensor) -> Tensor:
        """A copy of the tensor at which a backward pass ends."""
        for known, copy in self.cuts:
            if known is value:
                return copy
        copy = value.detach().requires_grad_(value.requires_grad)
        self.cuts.append((value, copy))
        return copy


def trunk_level(model: nn.Module, level: str | int | float) -> str | int | None:
    """The last layer that two passes share if they differ from `level` on; None if sharing does not pay."""
    if hasattr(model, "_orig_mod"):  # compiled as a whole: other layers would be another program
        return None
    if level == "sentence":
        return next(reversed(layers_of(model)), None)
    return None if isinstance(level, str) else whole_level(model, level)


def parted(model: nn.Module, level: str | int) -> tuple[list[nn.Module], list[nn.Module]]:
    """The layers up to `level`, and those after it."""
    layers = layers_of(model)
    count, modules = list(layers).index(level) + 1, list(layers.values())
    return modules[:count], modules[count:]


@contextmanager
def splitting(model: nn.Module, level: str | int) -> Iterator[Trunk]:
    """Inside the `with`, a forward pass is cut after layer `level`; the trunk it leaves is for `resuming`."""
    trunk = Trunk(level)

    def end(result):
        trunk.result = result
        return (trunk.cut(result[0]), *result[1:]) if isinstance(result, tuple) else trunk.cut(result)

    def cut_others(arguments: dict) -> dict:
        """Cuts the layers' other arguments: MPNet and DeBERTa pass position biases, which lower layers have read."""
        return {
            name: trunk.cut(value)
            for name, value in list(arguments.items())[1:]
            if isinstance(value, Tensor) and value.requires_grad
        }

    below, above = parted(model, level)
    with ExitStack() as stack:
        stack.enter_context(observing(model, level, end))
        for module in {id(module): module for module in above}.values():
            stack.enter_context(rewriting_arguments(module, cut_others, sum(other is module for other in below)))
        yield trunk


@contextmanager
def resuming(model: nn.Module, trunk: Trunk) -> Iterator[None]:
    """Inside the `with`, a forward pass skips the layers up to the trunk's level and uses their stored result.

    The first pass must be back-propagated before this one is.
    """
    for value, cut in trunk.cuts:
        if value.requires_grad:
            value.register_hook(lambda gradient, cut=cut: gradient if cut.grad is None else gradient + cut.grad)
    with standing_in(model, trunk.level, trunk.result):
        yield


@contextmanager
def standing_in(model: nn.Module, level: str | int, result: Any) -> Iterator[None]:
    """Inside the `with`, a forward pass skips the layers up to `level`, the last of which seems to return `result`."""
    below, _ = parted(model, level)
    lists = [module for module in unwrapped(model).modules() if isinstance(module, nn.ModuleList)]
    replaced = []
    try:
        for layer in {id(module): module for module in below}.values():
            times = sum(other is layer for other in below)
            for modules in lists:
                for index, module in enumerate(modules):
                    if module is layer:
                        modules[index] = StandIn(layer, times, result)
                        replaced.append((modules, index, layer))
        yield
    finally:
        for modules, index, layer in replaced:
            modules[index] = layer


class StandIn(nn.Module):
    """Replaces a layer: its first `times` calls return `result`, later ones call the layer.

    Later calls occur where a model uses one layer for several levels. All other attributes are the layer's.
    """

    def __init__(self, layer: nn.Module, times: int, result: Any):
        super().__init__()
        self.layer = layer

        @wraps(layer.forward)  # models look at the names of a layer's arguments
        def forward(*arguments, **named):
            nonlocal times
            times -= 1
            return result if times >= 0 else layer(*arguments, **named)

        self.forward = forward

    def __getattr__(self, name: str):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("layer"), name)
