"""The learning rates of the parts of a classifier, as multiples of the learning rate of its last encoder layer.

The head can learn faster than the encoder. The lower a layer is, the slower it can learn: layer k of L has the rate
decay^(L - k), and the embeddings have decay^L (Howard and Ruder, ACL 2018, arXiv:1801.06146, Sec. 3.2; Clark et al.,
ICLR 2020, arXiv:2003.10555, App. B).

The linear map of a head behind a pooling layer reads the mean times `NARROW`, so its weights are 1 / `NARROW` times
those of a head that reads the mean itself. With Adam, steps do not depend on the scale of the gradient. A learning
rate of 1 / `NARROW` times the usual one makes the same steps as the usual one on the mean itself; the weight decay is
divided likewise. Which weights of a pooling layer are trained at all is decided by
`salience.models.mean_pooling.settle`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.optim import Optimizer

from salience.hooks.stages import depth, has_pooling_layer, stages, unwrapped
from salience.models.mean_pooling import NARROW, head
from salience.training.freezing import parts_below


@dataclass(frozen=True)
class Rates:
    """Multiples of the learning rate.

    Args:
        head: of all weights behind the encoder's layers, relative to the last layer. Of a pooling layer that is
            trained, the linear map alone has it: attention is learnt as the encoder's.
        layer_decay: of each layer relative to the layer above it, and of the embeddings relative to the first layer.
    """

    head: float = 1.0
    layer_decay: float = 1.0


USUAL = Rates()


def set_rates(optimizer: Optimizer, model: nn.Module, rates: Rates = USUAL) -> None:
    """Puts weights whose learning rate differs from the optimiser's into groups of their own.

    Args:
        optimizer: has one learning rate for all weights of the model so far.
        model: the classifier. Models without layers of their own are not changed unless they are asked to.
        rates: the multiples.

    Raises:
        ValueError: the model's layers are not recognised, and rates are given.
    """
    if rates == USUAL and not has_pooling_layer(model):
        return
    factors = rate_factors(model, rates)
    for group in list(optimizer.param_groups):
        by_factors: defaultdict[tuple[float, float], list[nn.Parameter]] = defaultdict(list)
        for weight in group["params"]:
            by_factors[factors[id(weight)]].append(weight)
        settings: dict[str, Any] = {name: value for name, value in group.items() if name != "params"}
        group["params"] = by_factors.pop((1.0, 1.0), [])
        for (rate, decay), weights in by_factors.items():
            own = settings | {"lr": group["lr"] * rate, "weight_decay": group["weight_decay"] * decay}
            optimizer.add_param_group({"params": weights, **own})


def rate_factors(model: nn.Module, rates: Rates) -> dict[int, tuple[float, float]]:
    """For each weight, by its id: the factors of its learning rate and of its weight decay."""
    model, layers = unwrapped(model), depth(model)
    factors = dict.fromkeys(map(id, model.parameters()), (rates.head, 1.0))
    for part in parts_below(model):
        factors |= dict.fromkeys(map(id, part.parameters()), (rates.layer_decay**layers, 1.0))
    for level, module in stages(model).items():
        if level == "sentence":
            continue
        above = layers - level if isinstance(level, int) else layers if level in ("words", "embeddings") else 0
        for weight in module.parameters():
            factors[id(weight)] = (rates.layer_decay**above, 1.0)
    if has_pooling_layer(model):
        _, linear = head(model)
        factors[id(linear.weight)] = (rates.head / NARROW, NARROW)
    return factors
