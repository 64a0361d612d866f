"""Levels and stages: a level names a place in the model where texts can be mixed, a stage is the module there.

The stages of a model are looked up in the model itself, so that no model code is copied or changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from torch import nn
from transformers import PreTrainedModel

POOLING = "pooling"  # the level of a pooling layer


def unwrapped(model: nn.Module) -> PreTrainedModel:
    """The Hugging Face model inside `DistributedDataParallel`, `torch.compile` and PEFT wrappers."""
    if isinstance(model, nn.DataParallel):
        raise ValueError("DataParallel splits a batch and separates partners; launch with torchrun instead")
    inner: Any = model
    while True:
        if isinstance(inner, nn.parallel.DistributedDataParallel):
            inner = inner.module
        elif hasattr(inner, "_orig_mod"):
            inner = inner._orig_mod
        elif hasattr(inner, "get_base_model"):
            inner = inner.get_base_model()
        else:
            return inner


def encoder_of(model: nn.Module) -> PreTrainedModel:
    """The encoder inside a classifier, which transformers calls the base model."""
    inner: Any = unwrapped(model)
    return getattr(inner, "base_model", inner)


def stages(model: nn.Module) -> dict[str | int, nn.Module]:
    """The levels of a model and the module of each, in the order in which a batch passes them.

    "words" outputs the rows of the word-embedding table, "embeddings" the output of the embedding block (after
    positions and LayerNorm), and 1 to L the encoder layers. Their *outputs* are mixed. "sentence" is the last linear
    map of the head; its *input*, the pooled vector, is mixed. A module can stand for several levels: ALBERT has one
    layer that is called L times. A pooling layer, which has the place of layer L + 1 in the model, belongs to the
    head: it is the level "pooling", between L and "sentence".

    Raises:
        ValueError: the model's embedding block or layers are not recognised.
    """
    classifier = unwrapped(model)
    words, embeddings = embeddings_of(model)
    if embeddings is words:  # XLM calls the table so; what is added to it elsewhere would miss the longer partner
        raise ValueError(f"{type(classifier).__name__} has no embedding block that salience recognises")
    return {"words": words, "embeddings": embeddings, **layers_of(model), "sentence": next(linear_maps(classifier))}


def stage(model: nn.Module, level: str | int) -> nn.Module:
    """The module of one level, to read it. More models can be read than mixed in: see `embeddings_of`.

    Raises:
        ValueError: the model has no such level, or its embeddings or layers are not recognised.
    """
    if level == "sentence":
        return next(linear_maps(unwrapped(model)))
    if level in ("words", "embeddings"):
        return embeddings_of(model)[level == "embeddings"]
    if level not in (layers := layers_of(model)):
        raise ValueError(f"{type(unwrapped(model)).__name__} has no level {level!r}; its layers are {list(layers)}")
    return layers[level]


def embeddings_of(model: nn.Module) -> tuple[nn.Module, nn.Module]:
    """The modules of the levels "words" and "embeddings".

    They are one module, the table of the words, where an encoder has no embedding block: models such as GPT-2 and Qwen
    add positions elsewhere, which changes no gradient.
    """
    encoder = encoder_of(model)
    check_one_stack(encoder)
    try:
        words: nn.Module = encoder.get_input_embeddings()
    except (NotImplementedError, AttributeError):
        raise ValueError(
            f"{type(unwrapped(model)).__name__} has no embedding block that salience recognises"
        ) from None
    return words, getattr(encoder, "embeddings", words)


def check_one_stack(encoder: PreTrainedModel) -> None:
    """Refuses an encoder that is followed by a decoder: it has two embeddings of a text, and two lists of layers."""
    if getattr(getattr(encoder, "config", None), "is_encoder_decoder", False):
        raise ValueError(
            f"{type(encoder).__name__} reads a text twice, in an encoder and in a decoder, and attention and "
            "gradients are read in one place: explain it by occlusion"
        )


def linear_maps(module: nn.Module) -> Iterator[nn.Linear]:
    """The linear maps of a model, the last one first: the head is found without a walk through the encoder.

    Every step looks up the stages several times, and a walk through all modules takes as long as some layers on a GPU.
    The encoder comes after the head, before which CamemBERT has it.
    """
    children, encoder = list(module.children())[::-1], getattr(module, "base_model", None)
    for child in sorted(children, key=lambda child: child is encoder):
        yield from linear_maps(child)
    if isinstance(module, nn.Linear):
        yield module


def layers_of(model: nn.Module) -> dict[str | int, nn.Module]:
    """The levels that are layers and the module of each, in order: 1 to L, and "pooling" if there is such a layer."""
    check_one_stack(encoder_of(model))
    layers = encoder_layers(encoder_of(model))
    pooling = {POOLING: layers.pop()} if has_pooling_layer(model) else {}
    return dict(enumerate(layers, 1)) | pooling


def has_pooling_layer(model: nn.Module) -> bool:
    """Whether the last layer is a pooling layer, which `salience.models.mean_pooling` has added to the encoder's own.

    `pooling_layer` of the configuration is "mean"; in older runs "trained-mean", a layer that learnt to attend.
    """
    return getattr(encoder_of(model).config, "pooling_layer", None) is not None


def encoder_layers(encoder: PreTrainedModel) -> list[nn.Module]:
    """The layers of an encoder in order, a pooling layer included; one that is called several times, so many times."""
    number = encoder.config.num_hidden_layers
    groups = getattr(encoder.config, "num_hidden_groups", None)
    wanted = number if groups is None else groups  # ALBERT shares weights between layers
    for module in encoder.modules():  # they are found early in the walk
        lists = [each for each in module.children() if isinstance(each, nn.ModuleList) and len(each) == wanted]
        if len(lists) > 1 and wanted:  # XLM has all attentions in one list and all feed-forward networks in another
            raise ValueError(f"{type(encoder).__name__} has lists of parts of its {number} layers, and none of layers")
        if lists and not any(isinstance(each, nn.ModuleList) for each in lists[0]):  # Funnel has blocks of layers
            return (
                list(lists[0]) if groups is None else [lists[0][index * groups // number] for index in range(number)]
            )
    raise ValueError(f"{type(encoder).__name__} has no list of {number} layers")


def depth(model: nn.Module) -> int:
    """L, the number of encoder layers without a pooling layer; 0 for encoders that are embeddings only."""
    return max((level for level in layers_of(model) if isinstance(level, int)), default=0)


def whole_level(model: nn.Module, level: str | int | float) -> str | int:
    """A level as a key of `stages(model)`. A float is a fraction of the model's depth, rounded up to a whole layer."""
    modules = stages(model)
    if isinstance(level, float):
        level = max(1, math.ceil(level * depth(model) - 1e-9))
    if level not in modules:
        raise ValueError(f"{type(unwrapped(model)).__name__} has no level {level!r}; it has {list(modules)}")
    return level
