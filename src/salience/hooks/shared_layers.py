"""Running the layers below a level once for two passes: what comes after is computed twice, what comes before is not.

The first pass is cut at the level: its backward pass ends there and leaves a gradient on the cut. The second pass
goes on from the same place uncut, and its backward pass takes that gradient along through the layers below. So each of
them is computed and back-propagated once, the two passes above are never in memory together, and whoever waits for the
gradients of a backward pass, as several processes do, finds all of them after the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

from torch import Tensor, nn

from salience.hooks.hooks import add_gradient, observing, rewriting_arguments
from salience.hooks.stages import depth, stages, unwrapped, whole_level


class Trunk:
    """What the layers up to a level gave, and where the first pass was cut off from it."""

    def __init__(self, level: int):
        self.level = level
        self.result: Any = None  # as the layer returned it: a tensor, or a tuple that begins with it
        self.cuts: list[tuple[Tensor, Tensor]] = []  # with the graph below, and without

    def cut(self, value: Tensor) -> Tensor:
        """The same numbers, where a backward pass ends."""
        for known, cut in self.cuts:
            if known is value:
                return cut
        cut = value.detach().requires_grad_(value.requires_grad)
        self.cuts.append((value, cut))
        return cut


def trunk_level(model: nn.Module, level: str | int | float) -> int | None:
    """Up to which layer two passes that part at `level` are the same; None if that is not worth a cut."""
    if hasattr(model, "_orig_mod"):  # compiled as a whole: other layers would be another program
        return None
    if level == "sentence":
        return depth(model) or None
    return None if isinstance(level, str) else whole_level(model, level)


@contextmanager
def splitting(model: nn.Module, level: int) -> Iterator[Trunk]:
    """Inside the `with`, a forward pass is cut at `level`, and leaves the trunk that another may go on from."""
    trunk = Trunk(level)

    def end(result):
        trunk.result = result
        return (trunk.cut(result[0]), *result[1:]) if isinstance(result, tuple) else trunk.cut(result)

    def beside(arguments: dict) -> dict:
        """What comes past the layers: the position biases of MPNet and DeBERTa, which layers below have read too."""
        return {
            name: trunk.cut(value)
            for name, value in list(arguments.items())[1:]
            if isinstance(value, Tensor) and value.requires_grad
        }

    layers = {key: module for key, module in stages(model).items() if isinstance(key, int)}
    below = [module for key, module in layers.items() if key <= level]
    with ExitStack() as stack:
        stack.enter_context(observing(model, level, end))
        for module in {id(module): module for key, module in layers.items() if key > level}.values():
            stack.enter_context(rewriting_arguments(module, beside, sum(other is module for other in below)))
        yield trunk


@contextmanager
def resuming(model: nn.Module, trunk: Trunk) -> Iterator[None]:
    """Inside the `with`, the layers up to the trunk's level do not run: what they gave is there already.

    The first pass must have been back-propagated before this one is.
    """
    for value, cut in trunk.cuts:
        add_gradient(value, cut)
    below = [module for level, module in stages(model).items() if isinstance(level, int) and level <= trunk.level]
    lists = [module for module in unwrapped(model).modules() if isinstance(module, nn.ModuleList)]
    replaced = []
    try:
        for layer in {id(module): module for module in below}.values():
            times = sum(other is layer for other in below)
            for owner in lists:
                for index, own in enumerate(owner):
                    if own is layer:
                        owner[index] = StandIn(layer, times, trunk.result)
                        replaced.append((owner, index, layer))
        yield
    finally:
        for owner, index, layer in replaced:
            owner[index] = layer


class StandIn(nn.Module):
    """Takes a layer's place for its first calls and returns what is known already; later calls, where a model uses
    one layer for several levels, are the layer's own."""

    def __init__(self, layer: nn.Module, times: int, result: Any):
        super().__init__()
        self.layer = layer

        @wraps(layer.forward)  # with the same named arguments
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
