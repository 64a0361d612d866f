"""Tokens that need not be computed: padding in training, and all but two of a text in a layer that pools by the mean.

In training, the layers of an encoder compute the tokens of a batch side by side, as one long row. Texts of a batch
differ in length, and half of a small batch is often padding. Everything in a layer is computed token by token, except
that tokens attend to others of their text. So the states of all tokens (N, D) go through the layers, and the texts are
apart, as (B, T, D), within the self-attention alone. The result is the same up to rounding. Kernels of fused attention
pack in a similar way (Zhai et al., 2023, arXiv:2210.03052).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from salience.hooks.hooks import hooked, hooked_before
from salience.hooks.stages import POOLING, encoder_of, layers_of, unwrapped

# The self-attention of a layer, by model type. Everything else in these layers is computed token by token.
ATTENTION = {
    "bert": "attention.self", "roberta": "attention.self", "xlm-roberta": "attention.self",
    "camembert": "attention.self", "electra": "attention.self", "mpnet": "attention.attn", "distilbert": "attention",
    "modernbert": "attn",
}  # fmt: skip


def can_pack(model: nn.Module) -> bool:
    """Whether `packing` saves time: on a GPU it does not, where a small batch takes as long as a large one."""
    inner = unwrapped(model)
    return (
        inner.device.type == "cpu"
        and inner is model  # not compiled
        and getattr(encoder_of(inner).config, "model_type", None) in ATTENTION
        # With activation checkpointing, the backward pass calls a layer by itself.
        and not any(getattr(module, "gradient_checkpointing", False) for module in inner.modules())
    )


class Tokens:
    """Where the tokens of the current batch are."""

    inside: Tensor | None = None  # (B, T) bool; None if a batch has no padding, or there is none

    def begin(self, call: int, arguments: tuple, named: dict) -> None:
        mask = named.get("attention_mask")
        self.inside = None if mask is None or mask.bool().all() else mask.bool()

    def is_apart(self, states: Any) -> bool:
        return self.inside is not None and isinstance(states, Tensor) and states.shape[:2] == self.inside.shape

    def first_and_mean(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """The first state of each text and their mean, both (B, D)."""
        if self.inside is None:
            return states[:, 0], states.mean(1)
        counts = self.inside.sum(1, keepdim=True).clamp(min=1)
        return states[:, 0], (states * self.inside[..., None]).sum(1) / counts

    def before_pooling(self, call: int, arguments: tuple, named: dict):
        """Gives the pooling layer two tokens a text: they have its first token and its mean, and it reads no more."""
        states, *others = arguments
        first, mean = self.first_and_mean(states)
        states = torch.stack([first, 2 * mean - first], 1)
        return (states, *[None] * len(others)), {
            name: None if "mask" in name else given for name, given in named.items()
        }


class Packing(Tokens):
    """Where the tokens of the current batch are, and those of the current self-attention."""

    packed: Tensor  # the states (1, N, D) that it reads
    apart: Tensor  # what stands for them, (B, T, D)

    def pack(self, states: Tensor) -> Tensor:
        return states[self.inside][None]

    def unpack(self, states: Tensor) -> Tensor:
        assert self.inside is not None
        result = states.new_zeros(*self.inside.shape, *states.shape[2:])
        result[self.inside] = states[0]
        return result

    def before_layer(self, call: int, arguments: tuple, named: dict):
        states, *others = arguments
        return ((self.pack(states), *others), named) if self.is_apart(states) else None

    def after_last_layer(self, call: int, arguments: tuple, result):
        if self.inside is None:
            return None
        return (self.unpack(result[0]), *result[1:]) if isinstance(result, tuple) else self.unpack(result)

    def first_and_mean(self, states: Tensor) -> tuple[Tensor, Tensor]:
        if self.inside is None:
            return super().first_and_mean(states)
        counts = self.inside.sum(1)
        first = states[0, counts.cumsum(0) - counts]
        text = torch.arange(len(counts)).repeat_interleave(counts)
        return first, torch.zeros_like(first).index_add(0, text, states[0]) / counts[:, None]

    def before_attention(self, call: int, arguments: tuple, named: dict):
        if self.inside is None:
            return None
        states = arguments[0] if arguments else named["hidden_states"]
        self.packed, self.apart = states, states.new_zeros(()).expand(*self.inside.shape, states.shape[2])
        if arguments:
            return (self.apart, *arguments[1:]), named
        return arguments, named | {"hidden_states": self.apart}

    def after_attention(self, call: int, arguments: tuple, result):
        if self.inside is None:
            return None
        return (self.pack(result[0]), *result[1:]) if isinstance(result, tuple) else self.pack(result)

    def before_linear(self, call: int, arguments: tuple, named: dict):
        """Linear maps inside the self-attention read packed states, and return them apart."""
        (states,) = arguments
        if not self.is_apart(states):
            return None
        return (self.packed if states is self.apart else self.pack(states),), named

    def after_linear(self, call: int, arguments: tuple, result: Tensor):
        return None if self.inside is None else self.unpack(result)


@contextmanager
def packing(model: nn.Module) -> Iterator[None]:
    """Inside the `with`, forward passes of a model for which `can_pack` holds compute no padding.

    Hooks at the levels 1 to L see packed states (1, N, D), and those at "pooling" the first two of (B, T, D).
    """
    packing, layers = Packing(), layers_of(model)
    encoder = encoder_of(model)
    pooling = layers.pop(POOLING, None)
    with ExitStack() as stack:

        def before(module: nn.Module, action: Callable) -> None:
            stack.enter_context(hooked_before(module, action))

        def after(module: nn.Module, action: Callable) -> None:
            stack.enter_context(hooked(module.register_forward_hook, action))

        before(encoder, packing.begin)
        for layer in layers.values():
            before(layer, packing.before_layer)
            attention = layer.get_submodule(ATTENTION[encoder.config.model_type])
            before(attention, packing.before_attention)
            after(attention, packing.after_attention)
            for linear in attention.modules():
                if isinstance(linear, nn.Linear):
                    before(linear, packing.before_linear)
                    after(linear, packing.after_linear)
        if pooling is None:
            after(layer, packing.after_last_layer)
        else:
            before(pooling, packing.before_pooling)
        yield


@contextmanager
def pooling_two(model: nn.Module) -> Iterator[None]:
    """Inside the `with`, a layer that pools by the mean computes two tokens a text.

    Its weights are not changed, and its result at the first token is the same up to rounding.
    """
    encoder = encoder_of(model)
    if unwrapped(model) is not model or getattr(encoder.config, "pooling_layer", None) != "mean":
        yield
        return
    tokens = Tokens()

    def before(call: int, arguments: tuple, named: dict):
        states = arguments[0]  # inside another such `with` there are two already, and `packing` will give two
        is_whole = tokens.inside is None or tokens.is_apart(states)
        return tokens.before_pooling(call, arguments, named) if is_whole and states.shape[1] > 2 else None

    with hooked_before(encoder, tokens.begin), hooked_before(layers_of(model)[POOLING], before):
        yield
