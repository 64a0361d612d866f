"""The learning rates of a classifier with a pooling layer: decided here, for experiments to change.

The linear map of its head reads the mean times `NARROW`, so its weights are 1 / `NARROW` times those of a head that
reads the mean itself. With Adam, steps do not depend on the scale of the gradient. A learning rate of 1 / `NARROW`
times the usual one makes the same steps as the usual one on the mean itself; the weight decay is divided likewise.

Which weights are trained at all is decided by `salience.models.mean_pooling.settle`.
"""

from __future__ import annotations

from torch import nn
from torch.optim import Optimizer

from salience.hooks.stages import POOLING, has_pooling_layer, stages, unwrapped
from salience.models.mean_pooling import NARROW, head

HEAD_RATE = 1.0  # learning rate of the linear map, as seen from the mean, over that of the encoder
LAYER_RATE = 1.0  # learning rate of a pooling layer that is trained, over that of the encoder
LAYER_DECAY = 1.0  # weight decay of a pooling layer that is trained, over that of the encoder


def set_pooling_rates(optimizer: Optimizer, model: nn.Module) -> None:
    """Puts the weights of the head and of the pooling layer into groups of their own, with their own rates.

    Args:
        optimizer: has one learning rate for all weights of the model so far. That of a model without a pooling layer
            is not changed.
    """
    if not has_pooling_layer(model):
        return
    _, linear = head(unwrapped(model))
    layer = list(stages(model)[POOLING].parameters())
    for weights, rate, decay in (
        ([linear.weight], HEAD_RATE / NARROW, NARROW / HEAD_RATE),
        (layer, LAYER_RATE, LAYER_DECAY),
    ):
        own = {id(weight) for weight in weights}
        for group in list(optimizer.param_groups):
            moved = [weight for weight in group["params"] if id(weight) in own]
            if not moved:
                continue
            group["params"] = [weight for weight in group["params"] if id(weight) not in own]
            settings = {name: value for name, value in group.items() if name != "params"}
            settings |= {"lr": group["lr"] * rate, "weight_decay": group["weight_decay"] * decay}
            optimizer.add_param_group({"params": moved, **settings})
