"""The levels at which texts can meet, and the modules that stand for them. A model is never forked: they are found by
looking, and one table serves every family."""

from __future__ import annotations

import math

from torch import nn


def unwrapped(model: nn.Module) -> nn.Module:
    """The Hugging Face model inside `DistributedDataParallel`, `torch.compile` and PEFT."""
    if isinstance(model, nn.DataParallel):
        raise ValueError("DataParallel would tear partners apart; launch with torchrun instead")
    while True:
        if isinstance(model, nn.parallel.DistributedDataParallel):
            model = model.module
        elif hasattr(model, "_orig_mod"):
            model = model._orig_mod
        elif hasattr(model, "get_base_model"):
            model = model.get_base_model()
        else:
            return model


def encoder_of(model: nn.Module) -> nn.Module:
    """The encoder inside a classifier: what transformers calls its base model."""
    model = unwrapped(model)
    return getattr(model, "base_model", model)


def stages(model: nn.Module) -> dict[str | int, nn.Module]:
    """The places where texts can meet, in the order in which a batch passes them.

    "words" gives the rows of the word-embedding table, "embeddings" the output of the embedding block (after position
    and LayerNorm), 1..L the encoder layers; their *outputs* are what is mixed. "sentence" is the last linear map of
    the head, whose *input* is the pooled vector. A module may stand for several levels (ALBERT's layers are one).

    Raises:
        ValueError: the model has no such parts.
    """
    model, encoder = unwrapped(model), encoder_of(model)
    if not hasattr(encoder, "embeddings"):
        raise ValueError(f"{type(model).__name__} has no embedding block that salience knows")
    found: dict[str | int, nn.Module] = {"words": encoder.get_input_embeddings(), "embeddings": encoder.embeddings}
    found |= dict(enumerate(encoder_layers(encoder), 1))
    found["sentence"] = [module for module in model.modules() if isinstance(module, nn.Linear)][-1]
    return found


def encoder_layers(encoder: nn.Module) -> list[nn.Module]:
    """The encoder's layers, first to last; a layer that is called several times stands several times."""
    depth = encoder.config.num_hidden_layers
    groups = getattr(encoder.config, "num_hidden_groups", None)
    lists = [module for module in encoder.modules() if isinstance(module, nn.ModuleList)]
    if groups is not None:  # ALBERT shares weights between layers
        shared = next(group for group in lists if len(group) == groups)
        return [shared[index * groups // depth] for index in range(depth)]
    try:
        return list(next(layers for layers in lists if len(layers) == depth))
    except StopIteration:
        raise ValueError(f"{type(encoder).__name__} has no list of {depth} layers") from None


def depth(model: nn.Module) -> int:
    """L, the number of encoder layers that a batch passes; 0 where embeddings are all there is."""
    return max((level for level in stages(model) if isinstance(level, int)), default=0)


def whole_level(model: nn.Module, level: str | int | float) -> str | int:
    """A level as a key of `stages(model)`: a float is a part of the model's depth, rounded up to a whole layer.

    Raises:
        ValueError: the model has no such level; names those it has.
    """
    places = stages(model)
    if isinstance(level, float):
        level = max(1, math.ceil(level * depth(model) - 1e-9))
    if level not in places:
        raise ValueError(f"{type(unwrapped(model)).__name__} has no level {level!r}; it has {list(places)}")
    return level
