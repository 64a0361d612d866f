"""Reading and rewriting what passes through a model. The only file with hooks; every hook lives inside a `with`.

A model is never forked: its places are found by looking, and one mechanism serves every family.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, takewhile

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from salience.batch import Batch


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


def stages(model: nn.Module) -> dict[str | int, nn.Module]:
    """The places where texts can meet, in the order in which a batch passes them.

    "words" gives the rows of the word-embedding table, "embeddings" the output of the embedding block (after position
    and LayerNorm), 1..L the encoder layers; their *outputs* are what is mixed. "sentence" is the last linear map of
    the head, whose *input* is the pooled vector. A module may stand for several levels (ALBERT's layers are one).

    Raises:
        ValueError: the model has no such parts.
    """
    model = unwrapped(model)
    encoder = getattr(model, "base_model", model)
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


def whole_level(model: nn.Module, level: str | int | float) -> str | int:
    """A level as a key of `stages(model)`: a float is a part of the model's depth, rounded up to a whole layer.

    Raises:
        ValueError: the model has no such level; names those it has.
    """
    places = stages(model)
    if isinstance(level, float):
        depth = max(key for key in places if isinstance(key, int))
        level = max(1, math.ceil(level * depth - 1e-9))
    if level not in places:
        raise ValueError(f"{type(unwrapped(model)).__name__} has no level {level!r}; it has {list(places)}")
    return level


def forward(model: nn.Module, batch: Batch, mask: Tensor | None = None) -> Tensor:
    """The model's logits (B, C) for a batch; `mask` (B, T) replaces the batch's own attention mask."""
    inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask if mask is None else mask}
    if getattr(unwrapped(model).config, "type_vocab_size", 0) > 1:
        # As the tokenizers of BERT, ELECTRA and ALBERT number them: the second text and the separator after it.
        inputs["token_type_ids"] = ((batch.segment == 2).cumsum(1) > 0).long() * batch.attention_mask
    return model(**inputs).logits


@dataclass
class Reading:
    """What passed at a level, and after a backward pass the loss's gradient there."""

    value: Tensor | None = None

    @property
    def gradient(self) -> Tensor:
        if self.value is None or self.value.grad is None:
            raise RuntimeError("the loss must be back-propagated before its gradient is read")
        return self.value.grad


@contextmanager
def reading(model: nn.Module, level: str | int) -> Iterator[Reading]:
    """Inside the `with`, a forward pass leaves its representation at `level`, and a backward pass its gradient."""
    seen = Reading()

    def keep(value: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            if not value.requires_grad:  # the embeddings are frozen
                value = value.detach().requires_grad_()
            value.retain_grad()
        seen.value = value
        return value

    with rewriting(model, level, keep):
        yield seen


@contextmanager
def rewriting(model: nn.Module, level: str | int, function: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Inside the `with`, what the model computes at `level` is replaced by `function` of it."""
    module = stages(model)[level]
    turn = earlier_calls(model, level)

    def output(call: int, arguments: tuple, result):
        if call != turn:
            return None
        return (function(result[0]), *result[1:]) if isinstance(result, tuple) else function(result)

    def pooled(call: int, arguments: tuple):
        return (function(arguments[0]), *arguments[1:]) if call == turn else None

    if level == "sentence":
        hook = hooked(module.register_forward_pre_hook, pooled)
    else:
        hook = hooked(module.register_forward_hook, output)
    with hook:
        yield


@contextmanager
def rewriting_arguments(module: nn.Module, function: Callable[[dict], dict], turn: int = 0) -> Iterator[None]:
    """Inside the `with`, `function` maps the module's named arguments, from its call number `turn` (0 first) on."""
    names = inspect.signature(module.forward)

    def before(call: int, arguments: tuple, named: dict):
        if call < turn:
            return None
        bound = names.bind(*arguments, **named)
        bound.arguments |= function(dict(bound.arguments))
        return bound.args, bound.kwargs

    with hooked(partial(module.register_forward_pre_hook, with_kwargs=True), before):
        yield


def earlier_calls(model: nn.Module, level: str | int) -> int:
    """How often a pass has called the module of `level` before that level's turn: more than 0 where layers share."""
    before = list(takewhile(lambda stage: stage[0] != level, stages(model).items()))
    return sum(module is stages(model)[level] for _, module in before)


def check_recomputation(model: nn.Module) -> None:
    """Refuses activation checkpointing where hooks would lie inside what the backward pass computes again.

    They are gone by then, and the gradient would be wrong without a word. Newer versions of transformers checkpoint a
    layer's `forward`, and hooks stay outside; transformers 5.0 checkpoints its call.
    """
    inside = "__call__" in vars(GradientCheckpointingLayer)
    if inside and model.training and getattr(unwrapped(model), "is_gradient_checkpointing", False):
        raise ValueError(
            "this version of transformers cannot mix representations under activation checkpointing: upgrade it, "
            "switch checkpointing off, or mix tokens (SSMix)"
        )


@contextmanager
def hooked(register: Callable, action: Callable) -> Iterator[None]:
    """Inside the `with`, a hook that also tells `action` the number of the call, 0 for the first."""
    calls = count()
    handle = register(lambda module, *passing: action(next(calls), *passing))
    try:
        yield
    finally:
        handle.remove()
