"""What one layer of a model attends to, at the price of the layers below it.

The layers below stay on fused attention, those above do not run, and of the layer itself only queries and keys are
multiplied. Transformers' attention interface hands these to a function by name; hooks cannot see them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from salience.batch import Batch
from salience.hooks.hooks import evaluating, forward, observing
from salience.hooks.stages import depth, encoder_of, unwrapped

NAME = "salience_attention"  # in the interface's table; never saved with a model


class Reached(Exception):
    """Ends a forward pass: what it was run for has been seen."""


@dataclass
class Capture:
    """Which layer's attention is wanted, and what it was."""

    layer: int
    head: int | None
    calls: int = 0
    found: Tensor | None = None


capturing: ContextVar[Capture] = ContextVar("capturing")


def attention(model: nn.Module, batch: Batch, layer: int, head: int | None = None) -> Tensor:
    """Attention probabilities (B, H, T, T) of a layer, or of one of its heads (B, 1, T, T); rows are queries.

    They are the model's in evaluation, without dropout and without a gradient. What padding attends to means nothing.

    Args:
        layer: 0 is the first; negative numbers count from the last.

    Raises:
        ValueError: no such layer or head, or a model that cannot show its attention.
    """
    model, encoder = unwrapped(model), encoder_of(model)
    layers, heads = depth(model), getattr(encoder.config, "num_attention_heads", 0)
    if not heads:
        raise ValueError(f"{type(model).__name__} has no self-attention to read: its encoder is no transformer")
    if not -layers <= layer < layers:
        raise ValueError(f"{type(model).__name__} has the layers 0 to {layers - 1}, not {layer}")
    if head is not None and not 0 <= head < heads:
        raise ValueError(f"{type(model).__name__} has the heads 0 to {heads - 1} in a layer, not {head}")
    read = from_interface if has_interface(encoder) else from_output
    with torch.no_grad(), evaluating(model):
        return read(model, batch, layer % layers, head)


def has_interface(encoder: nn.Module) -> bool:
    """Whether the encoder's attention is looked up by name at every call; of transformers' encoders most are so."""
    return getattr(type(encoder), "_can_set_attn_implementation", lambda: False)()


def from_interface(model: nn.Module, batch: Batch, layer: int, head: int | None) -> Tensor:
    capture = Capture(layer, head)
    with attending_by_name(encoder_of(model), capture), suppress(Reached):
        forward(model, batch)
    if capture.found is not None:
        return capture.found
    raise ValueError(f"{type(model).__name__} does not call transformers' attention interface once a layer")


@contextmanager
def attending_by_name(encoder: nn.Module, capture: Capture) -> Iterator[None]:
    usual = encoder.config._attn_implementation
    token = capturing.set(capture)
    encoder.set_attn_implementation(NAME)
    try:
        yield
    finally:
        encoder.set_attn_implementation(usual)
        capturing.reset(token)


def captured_attention(module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **others):
    """Fused attention below the wanted layer, and there the end. `query` and `key` (B, H, T, D / H)."""
    capture = capturing.get()
    if capture.calls < capture.layer:
        capture.calls += 1
        others.pop("output_attentions", None)
        return sdpa_attention_forward(module, query, key, value, attention_mask, **others)
    if capture.head is not None:
        query, key = (part[:, capture.head : capture.head + 1] for part in (query, key))
    scaling = others.get("scaling")
    capture.found = probabilities(query, key, attention_mask, query.shape[-1] ** -0.5 if scaling is None else scaling)
    raise Reached


def probabilities(query: Tensor, key: Tensor, mask: Tensor | None, scaling: float) -> Tensor:
    """softmax(Q K^T scaling) over what the mask lets through: bool, additive, or None where nothing is padded."""
    wide = torch.promote_types(query.dtype, torch.float32)
    with torch.autocast(query.device.type, enabled=False):
        scores = query.to(wide) @ key.to(wide).transpose(2, 3) * scaling
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    return scores.softmax(3).nan_to_num()  # padding far from a text attends to nothing in ModernBERT's local layers


AttentionInterface.register(NAME, captured_attention)
AttentionMaskInterface.register(NAME, sdpa_mask)  # else the mask would be None, and padding be attended to


def from_output(model: nn.Module, batch: Batch, layer: int, head: int | None) -> Tensor:
    """For models that compute attention in their own way, and give it with a layer's output when asked."""
    warnings.warn(
        f"{type(model).__name__} does not use transformers' attention interface: it computes the attention of all "
        "heads by itself, which takes longer",
        stacklevel=4,
    )
    found, config = [], encoder_of(model).config
    usual = config._attn_implementation

    def see(result) -> None:
        found.extend(part.nan_to_num() for part in result[1:] if torch.is_tensor(part) and part.dim() == 4)
        raise Reached

    try:
        with observing(model, layer + 1, see), suppress(Reached):
            forward(model, batch, output_attentions=True)
    finally:
        config._attn_implementation = usual  # ModernBERT in transformers 5.0 switches to another one for good
    if not found:
        raise ValueError(f"{type(model).__name__} does not show its attention")
    return found[0] if head is None else found[0][:, head : head + 1]
