"""The learning rate of the head, as a multiple of that of the encoder.

The linear map of a head behind a pooling layer reads the mean times `NARROW`, so its weights are 1 / `NARROW` times
those of a head that reads the mean itself. With Adam, steps do not depend on the scale of the gradient. A learning
rate of 1 / `NARROW` times the usual one makes the same steps as the usual one on the mean itself; the weight decay is
divided likewise. The pooling layer itself is not trained.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from torch import nn
from torch.optim import Optimizer

from salience.hooks.stages import has_pooling_layer, stages, unwrapped
from salience.models.mean_pooling import NARROW, head
from salience.training.freezing import parts_below


def set_rates(optimizer: Optimizer, model: nn.Module, head_rate: float = 1.0) -> None:
    """Puts weights whose learning rate differs from the optimiser's into groups of their own.

    Args:
        optimizer: has one learning rate for all weights of the model so far.
        model: the classifier. Models without layers of their own are not changed unless they are asked to.
        head_rate: of all weights behind the encoder's layers, as a multiple of the rate of the encoder.

    Raises:
        ValueError: the model's layers are not recognised, and a rate is given.
    """
    if head_rate == 1 and not has_pooling_layer(model):
        return
    factors = rate_factors(model, head_rate)
    for group in list(optimizer.param_groups):
        by_factors: defaultdict[tuple[float, float], list[nn.Parameter]] = defaultdict(list)
        for weight in group["params"]:
            by_factors[factors[id(weight)]].append(weight)
        settings: dict[str, Any] = {name: value for name, value in group.items() if name != "params"}
        group["params"] = by_factors.pop((1.0, 1.0), [])
        for (rate, decay), weights in by_factors.items():
            own = settings | {"lr": group["lr"] * rate, "weight_decay": group["weight_decay"] * decay}
            optimizer.add_param_group({"params": weights, **own})


def rate_factors(model: nn.Module, head_rate: float) -> dict[int, tuple[float, float]]:
    """For each weight, by its id: the factors of its learning rate and of its weight decay."""
    model = unwrapped(model)
    factors = dict.fromkeys(map(id, model.parameters()), (head_rate, 1.0))
    below = [module for level, module in stages(model).items() if level != "sentence"]
    for module in (*parts_below(model), *below):
        factors |= dict.fromkeys(map(id, module.parameters()), (1.0, 1.0))
    if has_pooling_layer(model):
        _, linear = head(model)
        factors[id(linear.weight)] = (head_rate / NARROW, NARROW)
    return factors
