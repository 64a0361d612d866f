"""Reading and rewriting representations with hooks. Every hook is removed at the end of its `with`, also on errors.

Threads can share a model: a hook acts in the thread that has set it, so that another one predicts as it does alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from itertools import count
from threading import get_ident

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from salience.batch import Batch
from salience.hooks.stages import encoder_of, layers_of, stage, unwrapped


def forward(
    model: nn.Module, batch: Batch, mask: Tensor | None = None, words: Tensor | None = None, **settings
) -> Tensor:
    """The model's logits (B, C) for a batch.

    `mask` (B, T), the attention mask, and `words` (B, T) bool, which attention classifiers alone read, are used in
    place of the batch's own.
    """
    inputs, given = inputs_of(model, batch), {"attention_mask": mask, "word_mask": words}.items()
    inputs |= {name: value for name, value in given if value is not None and name in inputs}
    return model(**inputs, **settings).logits


def differ(found: Tensor, expected: Tensor) -> bool:
    """Whether two results of a model differ by more than rounding."""
    tolerance = max(1e-3, 8 * torch.finfo(expected.dtype).eps)
    return bool((found - expected).abs().max() > tolerance * expected.abs().max())


def inputs_of(model: nn.Module, batch: Batch) -> dict[str, Tensor]:
    """What the model reads of a batch, by the names of the arguments of its `forward`; each (B, T)."""
    inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
    if getattr(unwrapped(model), "reads_word_mask", False):
        inputs["word_mask"] = batch.segment > 0
    if batch.token_type_ids is not None and reads_types(encoder_of(model)):
        inputs["token_type_ids"] = batch.token_type_ids
    return inputs


def reads_types(encoder: nn.Module) -> bool:
    """Whether an encoder tells token types apart. Some that do, such as Funnel's, do not count them."""
    counted = getattr(encoder.config, "type_vocab_size", None)
    return "token_type_ids" in arguments_of(type(encoder).forward) and (counted is None or counted > 1)


@cache  # a signature takes as long as a small operation of a model
def arguments_of(function: Callable) -> frozenset[str]:
    """The names of a function's arguments."""
    return frozenset(inspect.signature(function).parameters)


class Reading:
    """A representation that a forward pass has computed, and its gradient after a backward pass."""

    def __init__(self) -> None:
        self._value: Tensor | None = None

    @property
    def value(self) -> Tensor:
        """The representation, (B, T, D) or (B, D)."""
        if self._value is None:
            raise RuntimeError("call the model inside the `with` before its representation is read")
        return self._value

    @property
    def gradient(self) -> Tensor:
        """The gradient of the loss with respect to the representation, shaped like it."""
        if self._value is None or self._value.grad is None:
            raise RuntimeError("the loss must be back-propagated before its gradient is read")
        return self._value.grad


@contextmanager
def reading(model: nn.Module, level: str | int) -> Iterator[Reading]:
    """Inside the `with`, a forward pass records the representation at `level`, and a backward pass its gradient."""
    record = Reading()

    def keep(value: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            if not value.requires_grad:  # the embeddings are frozen
                value = value.detach().requires_grad_()
            value.retain_grad()
        record._value = value
        return value.clone()  # CTRL scales its embeddings in place

    with rewriting(model, level, keep):
        yield record


@contextmanager
def rewriting(model: nn.Module, level: str | int, function: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Inside the `with`, the representation at `level` is replaced by `function` of it, which keeps its shape."""

    def output(result):
        if not isinstance(result, Tensor | tuple):  # as the dictionaries of SqueezeBERT
            raise ValueError(f"what it has at level {level!r} is a {type(result).__name__}, and no states")
        return (function(result[0]), *result[1:]) if isinstance(result, tuple) else function(result)

    def pooled(call: int, arguments: tuple):
        return (function(arguments[0]), *arguments[1:]) if call == 0 else None

    if level == "sentence":
        hook = hooked(stage(model, level).register_forward_pre_hook, pooled)
    else:
        hook = observing(model, level, output)
    with hook:
        yield


@contextmanager
def observing(model: nn.Module, level: str | int, function: Callable) -> Iterator[None]:
    """Inside the `with`, `function` gets what the stage of `level` returns, and replaces it unless it gives None."""
    module, turn = stage(model, level), 0
    if isinstance(level, int):  # above 0 for layers that are called several times
        turn = sum(other is module for other in list(layers_of(model).values())[: level - 1])

    def after(call: int, arguments: tuple, result):
        return function(result) if call == turn else None

    with hooked(module.register_forward_hook, after):
        yield


@contextmanager
def rewriting_arguments(module: nn.Module, function: Callable[[dict], dict], turn: int = 0) -> Iterator[None]:
    """Inside the `with`, arguments of the module are replaced by those that `function` gives for all of them by name.

    Calls before number `turn`, from 0, stay as they are.
    """
    names = inspect.signature(module.forward)

    def before(call: int, arguments: tuple, named: dict):
        if call < turn:
            return None
        bound = names.bind(*arguments, **named)
        bound.arguments |= function(dict(bound.arguments))
        return bound.args, bound.kwargs

    with hooked_before(module, before):
        yield


@contextmanager
def hooked(register: Callable, action: Callable) -> Iterator[None]:
    """Inside the `with`, a hook that calls `action` with the number of the call, from 0, and the hook's arguments.

    It changes nothing in other threads.
    """
    calls, own = count(), get_ident()

    def act(module: nn.Module, *passing):
        # A compiler, which knows no threads, compiles what its own one does.
        return action(next(calls), *passing) if torch.compiler.is_compiling() or get_ident() == own else None

    handle = register(act)
    try:
        yield
    finally:
        handle.remove()


def hooked_before(module: nn.Module, action: Callable) -> AbstractContextManager[None]:
    """As `hooked`, before the forward pass of a module; the action gets named arguments too, and gives all of them."""
    return hooked(partial(module.register_forward_pre_hook, with_kwargs=True), action)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Inside the `with`, every module is in evaluation mode; afterwards each module is in its previous mode."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True


def check_recomputation(model: nn.Module) -> None:
    """Refuses activation checkpointing where the backward pass would compute layers again without their hooks.

    Transformers 5.0 recomputes the call of a layer, hooks included, which are removed by then; the gradient would be
    wrong without an error. Newer versions recompute only the layer's `forward`, which hooks lie outside of.
    """
    inside = "__call__" in vars(GradientCheckpointingLayer)
    if inside and model.training and getattr(unwrapped(model), "is_gradient_checkpointing", False):
        raise ValueError(
            "this version of transformers cannot mix representations under activation checkpointing: upgrade it, "
            "switch checkpointing off, or mix tokens (SSMix)"
        )
