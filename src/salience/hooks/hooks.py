"""Reading and rewriting what passes through a model. The only file with hooks; every hook lives inside a `with`.

A model is never forked: its places are found by looking, and one mechanism serves every family.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, takewhile

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from salience.batch import Batch
from salience.hooks.stages import encoder_of, stages, unwrapped


def forward(
    model: nn.Module, batch: Batch, mask: Tensor | None = None, words: Tensor | None = None, **settings
) -> Tensor:
    """The model's logits (B, C) for a batch.

    `mask` (B, T) replaces the batch's own attention mask, and `words` (B, T) the places of its words, which only the
    attention classifiers want to know.
    """
    inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask if mask is None else mask}
    if hasattr(unwrapped(model).config, "special_token_ids"):
        inputs["word_mask"] = batch.segment > 0 if words is None else words
    if getattr(encoder_of(model).config, "type_vocab_size", 0) > 1:
        # As the tokenizers of BERT, ELECTRA and ALBERT number them: the second text and the separator after it.
        inputs["token_type_ids"] = ((batch.segment == 2).cumsum(1) > 0).long() * batch.attention_mask
    return model(**inputs, **settings).logits


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

    def output(result):
        return (function(result[0]), *result[1:]) if isinstance(result, tuple) else function(result)

    def pooled(call: int, arguments: tuple):
        return (function(arguments[0]), *arguments[1:]) if call == 0 else None

    if level == "sentence":
        hook = hooked(stages(model)[level].register_forward_pre_hook, pooled)
    else:
        hook = observing(model, level, output)
    with hook:
        yield


@contextmanager
def observing(model: nn.Module, level: str | int, function: Callable) -> Iterator[None]:
    """Inside the `with`, `function` sees all that the module of `level` returns, and may return something else."""
    turn = earlier_calls(model, level)

    def after(call: int, arguments: tuple, result):
        return function(result) if call == turn else None

    with hooked(stages(model)[level].register_forward_hook, after):
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


def add_gradient(value: Tensor, other: Tensor) -> None:
    """When `value` is back-propagated, the gradient that lies at `other` is taken along."""
    if value.requires_grad:
        value.register_hook(lambda gradient: gradient if other.grad is None else gradient + other.grad)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Inside the `with`, every module is in evaluation mode; afterwards each is in the mode it was in."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True


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
