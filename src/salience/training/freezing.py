"""Freezing the lower part of an encoder: its weights stay as they are, and no gradient is computed for them."""

from __future__ import annotations

from itertools import takewhile

from torch import nn

from salience.errors import InputError
from salience.hooks.stages import depth, encoder_of, layers_of, stages

# Parts of encoders between embeddings and layers: of ELECTRA, ALBERT, and DeBERTa's norm of relative positions.
BELOW = ("embeddings_project", "encoder.embedding_hidden_mapping_in", "encoder.LayerNorm")


def freeze_lowest(model: nn.Module, layers: int) -> None:
    """Excludes the embeddings and the lowest layers of an encoder from training, until it is loaded again.

    A part that no trained weight lies below has a forward pass and no backward pass.

    Args:
        layers: number of the lowest layers, from 0 to L. A pooling layer is none of them.

    Raises:
        InputError: the encoder has fewer layers, its layers are not recognised, or it has one layer at several levels.
    """
    modules = recognised_stages(model, f"--freeze {layers}")
    if layers > depth(model):
        raise InputError(f"--freeze {layers}: the encoder has {depth(model)} layers; give a number up to that")
    of_layers = layers_of(model)
    frozen = [module for level, module in of_layers.items() if isinstance(level, int) and level <= layers]
    trained = [module for level, module in of_layers.items() if level not in range(1, layers + 1)]
    if any(module is other for module in frozen for other in trained):
        raise InputError(f"--freeze {layers}: the encoder has one layer at several levels; use --freeze 0")
    for module in (*frozen, *parts_below(model), modules["embeddings"]):
        module.requires_grad_(False)


def parts_below(model: nn.Module) -> list[nn.Module]:
    """The parts of an encoder, beside its embedding block, that belong to the embeddings.

    They are the tables of relative positions, which MPNet and DeBERTa share between all layers, and what lies between
    the embeddings and the first layer.
    """
    inside = {id(part) for module in layers_of(model).values() for part in module.modules()}
    outside = {name: part for name, part in encoder_of(model).named_modules() if id(part) not in inside}
    return [part for name, part in outside.items() if isinstance(part, nn.Embedding) or name in BELOW]


def recognised_stages(model: nn.Module, option: str) -> dict[str | int, nn.Module]:
    """As `salience.hooks.stages.stages`, for a model that an option needs the levels of.

    Raises:
        InputError: the model's embedding block or layers are not recognised.
    """
    try:
        return stages(model)
    except ValueError as error:
        raise InputError(f"{option} cannot be used with this model: {error}") from error


def frozen_layers(model: nn.Module) -> int:
    """The number of the lowest layers, a pooling layer included, below and in which no weight is trained.

    It is 0 for a model whose layers are not recognised: `freeze_lowest` refuses it.
    """
    try:
        modules, layers = stages(model), layers_of(model).values()
    except ValueError:
        return 0
    if is_trained(modules["embeddings"]):
        return 0
    return sum(1 for _ in takewhile(lambda layer: not is_trained(layer), layers))


def is_trained(module: nn.Module) -> bool:
    """Whether any weight of a module is trained."""
    return any(weight.requires_grad for weight in module.parameters())
