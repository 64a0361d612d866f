"""Attention that is computed by a function of this library, which transformers' attention interface calls by a name.

Hooks do not see queries, keys and values; the interface passes them to the function. One function computes attention
for training on processors, with less memory than torch's, faster dropout, and a backward pass in bf16 that is not
slower than that of fp32; the other one shows the attention of one layer, at the cost of the layers below it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask, sdpa_mask

from salience.batch import Batch
from salience.hooks.dropout import with_dropout
from salience.hooks.dropped_attention import DroppedAttention
from salience.hooks.hooks import evaluating, forward, observing
from salience.hooks.shared_layers import StandIn
from salience.hooks.stages import depth, encoder_of, has_pooling_layer, layers_of, unwrapped

# Names that are never saved with a model, by the attention that a model usually has.
OWN_ATTENTION = {"sdpa": "salience_attention", "eager": "salience_attention_beside_eager"}
SHORT = 128  # tokens; up to this length two products are faster than fused attention in float32


def has_interface(encoder: nn.Module) -> bool:
    """Whether the encoder uses transformers' attention interface, as most of them do."""
    return getattr(type(encoder), "_can_set_attn_implementation", lambda: False)()


# Of an encoder inside `with_own_attention`: its usual attention, and how many are inside, in all threads.
_switched: WeakKeyDictionary[PreTrainedModel, tuple[str, int]] = WeakKeyDictionary()
_turn = Lock()


@contextmanager
def with_own_attention(encoder: PreTrainedModel) -> Iterator[None]:
    """Inside the `with`, the attention of an encoder that has the interface is computed by `own_attention`.

    The setting is one of all threads, in each of which `own_attention` does what is asked for there.
    """
    with _turn:
        usual, inside = _switched.get(encoder, (encoder.config._attn_implementation, 0))
        if not inside:
            encoder.set_attn_implementation(OWN_ATTENTION.get(usual, OWN_ATTENTION["sdpa"]))
        _switched[encoder] = usual, inside + 1
    try:
        yield
    finally:
        with _turn:
            usual, inside = _switched.pop(encoder)
            if inside > 1:
                _switched[encoder] = usual, inside - 1
            else:
                encoder.set_attn_implementation(usual)


def differentiating(model: nn.Module) -> AbstractContextManager:
    """Inside the `with`, attention on a processor has a backward pass that is fast, and that needs little memory.

    Models without fused attention by transformers' attention interface stay as they are.
    """
    encoder = encoder_of(unwrapped(model))
    if next(model.parameters()).device.type != "cpu" or not has_interface(encoder):
        return nullcontext()
    fused = encoder.config._attn_implementation in ("sdpa", OWN_ATTENTION["sdpa"])  # the latter by another thread
    return with_own_attention(encoder) if fused else nullcontext()


def differentiable_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **others
) -> tuple[Tensor, None]:
    """Fused attention, or the same by other operations where a gradient is needed, in bf16 or through dropout.

    The signature is that of transformers' attention interface; `query`, `key` and `value` are (B, H, T, D / H), the
    result is (B, T, H, D / H).
    """
    others.pop("output_attentions", None)
    causal = others.get("is_causal")
    causal = getattr(module, "is_causal", True) if causal is None else causal
    dropout, half = others.get("dropout", 0.0), torch.is_autocast_enabled("cpu")
    is_long = query.shape[2] > SHORT
    drops = 0 < dropout < 1 and not torch.compiler.is_compiling()
    # On a processor, torch's backward pass is slow in bf16, and its dropout slow and, in long texts, large.
    is_costly = query.requires_grad and query.device.type == "cpu" and (half or drops)
    # Whether every token attends to all others but those that a mask excludes, with as many keys as queries.
    is_plain = (
        query.shape[1] == key.shape[1]
        and (not causal or attention_mask is not None)
        and (attention_mask is None or attention_mask.dtype == torch.bool)
        and others.get("position_bias") is None
    )
    if not (is_costly and is_plain):
        return sdpa_attention_forward(module, query, key, value, attention_mask, **others)
    scaling = others.get("scaling")
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    if is_long and drops:
        parts = [part.to(torch.bfloat16) if half else part for part in (query, key, value)]
        with torch.autocast("cpu", enabled=False):
            return DroppedAttention.apply(*parts, attention_mask, dropout, scaling).transpose(1, 2), None
    if is_long and not dropout:
        with torch.autocast("cpu", enabled=False):
            wide = (part.float() for part in (query, key, value))
            return sdpa_attention_forward(module, *wide, attention_mask, **others)
    scores = query @ key.transpose(2, 3)
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32)) * scaling
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask, torch.finfo(scores.dtype).min)
    weights = with_dropout(scores.softmax(3).to(torch.bfloat16 if half else query.dtype), dropout)
    return (weights @ value).transpose(1, 2).contiguous(), None


class Reached(Exception):
    """Ends a forward pass once the attention has been read."""


@dataclass
class Capture:
    """A request for the attention of one layer, and its result."""

    layer: int  # 0 is the first
    head: int | None  # None for all
    stops: bool  # whether the forward pass ends at the layer
    calls: int = 0  # number of layers that have run
    probabilities: Tensor | None = None  # (B, H, T, T) or (B, 1, T, T), once the layer is reached


capturing: ContextVar[Capture] = ContextVar("capturing")  # what this thread reads


def own_attention(*given, **named) -> tuple[Tensor, Tensor | None]:
    """Fused attention, read if this thread reads it; else with the backward pass of `differentiable_attention`."""
    # A compiler cannot ask which thread it is in, and no compiled model is read.
    capture = None if torch.compiler.is_compiling() else capturing.get(None)
    if capture is None:
        return differentiable_attention(*given, **named)
    return captured_attention(capture, *given, **named)


def attention(model: nn.Module, batch: Batch, layer: int, head: int | None = None) -> Tensor:
    """Attention probabilities of one layer (B, H, T, T), or of one head (B, 1, T, T); rows are queries.

    They are computed in evaluation mode (no dropout) and without a gradient. Rows of padding are arbitrary.

    Args:
        layer: the layer's number; 0 is the first, negative numbers count from the last. L is the pooling layer of a
            model that has one; negative numbers do not count it.
        head: the head's number in the layer, from 0; None for all heads.

    Raises:
        ValueError: the model has no such layer or head, or cannot show its attention.
    """
    return read_attention(model, batch, layer, head, stops=True)[0]


def attention_and_logits(model: nn.Module, batch: Batch, layer: int, head: int | None = None) -> tuple[Tensor, Tensor]:
    """What `attention` gives, and the model's logits (B, C), from one pass where the attention interface is used."""
    return read_attention(model, batch, layer, head, stops=False)


def read_attention(model: nn.Module, batch: Batch, layer: int, head: int | None, stops: bool) -> tuple[Tensor, Tensor]:
    """As `attention_and_logits`; with `stops` the logits are empty, and the pass ends at the layer."""
    model = unwrapped(model)
    encoder, logits = encoder_of(model), torch.empty(0)
    layers, heads = depth(model), getattr(encoder.config, "num_attention_heads", 0)
    kind = type(model).__name__
    if not heads:
        raise ValueError(f"{kind} has no self-attention to read: its encoder is no transformer")
    if not (layer == layers and has_pooling_layer(model)):
        if not -layers <= layer < layers:
            raise ValueError(f"{kind} has the layers 0 to {layers - 1}, not {layer}")
        if head is not None and not 0 <= head < heads:
            raise ValueError(f"{kind} has the heads 0 to {heads - 1} in a layer, not {head}")
        layer %= layers
    with torch.no_grad(), evaluating(model):
        if not has_interface(encoder):
            return from_output(model, batch, layer, head), logits if stops else forward(model, batch)
        skipped = sum(isinstance(each, StandIn) for each in layers_of(model).values())
        capture = Capture(layer, head, stops, skipped)
        token = capturing.set(capture)
        try:
            with with_own_attention(encoder), suppress(Reached):
                logits = forward(model, batch)
        finally:
            capturing.reset(token)
    if capture.probabilities is None:
        raise ValueError(f"{kind} does not call transformers' attention interface once a layer")
    return capture.probabilities, logits


def captured_attention(
    capture: Capture, module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **others
) -> tuple[Tensor, Tensor | None]:
    """Fused attention, which stores its probabilities at the requested layer; the forward pass may end there."""
    if capture.calls == capture.layer:
        one = slice(None) if capture.head is None else slice(capture.head, capture.head + 1)
        scaling = others.get("scaling")
        capture.probabilities = probabilities(
            query[:, one],
            of_heads(key, query)[:, one],
            causal_mask(module, query, attention_mask, others),
            query.shape[-1] ** -0.5 if scaling is None else scaling,
        )
        if capture.stops:
            raise Reached
    capture.calls += 1
    others.pop("output_attentions", None)
    return sdpa_attention_forward(module, query, key, value, attention_mask, **others)


def of_heads(key: Tensor, query: Tensor) -> Tensor:
    """The keys (B, H, T, D / H) of each head, of which groups can share theirs."""
    return key.repeat_interleave(query.shape[1] // key.shape[1], 1)


def causal_mask(module: nn.Module, query: Tensor, mask: Tensor | None, others: dict) -> Tensor | None:
    """The mask of the attention: without one, tokens of a decoder attend to those before them, as the fused one does.

    Args:
        others: the arguments of the attention interface; `is_causal` is one where it is not the module's own.
    """
    causal = others.get("is_causal")
    if mask is not None or not (getattr(module, "is_causal", True) if causal is None else causal):
        return mask
    return torch.ones(query.shape[2], query.shape[2], dtype=torch.bool, device=query.device).tril()


def probabilities(query: Tensor, key: Tensor, mask: Tensor | None, scaling: float) -> Tensor:
    """softmax(Q K^T scaling): (B, H, T, T), computed in float32 at least, with a mask that is bool or additive."""
    wide = torch.promote_types(query.dtype, torch.float32)
    with torch.autocast(query.device.type, enabled=False):
        scores = query.to(wide) @ key.to(wide).transpose(2, 3) * scaling
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    return scores.softmax(3).nan_to_num()  # in ModernBERT's local layers, padding far from the text attends to nothing


def mask_beside_eager(*given, **named) -> Tensor | None:
    """The mask of eager attention, which fused attention reads too, for threads that go on with eager attention."""
    return (sdpa_mask if capturing.get(None) else eager_mask)(*given, **named)


for usual, mask in (("sdpa", sdpa_mask), ("eager", mask_beside_eager)):  # without one, padding would be attended to
    AttentionInterface.register(OWN_ATTENTION[usual], own_attention)
    AttentionMaskInterface.register(OWN_ATTENTION[usual], mask)


def from_output(model: nn.Module, batch: Batch, layer: int, head: int | None) -> Tensor:
    """Attention probabilities that a layer returns with its output, for models without the attention interface."""
    warnings.warn(
        f"{type(model).__name__} does not use transformers' attention interface: the attention of all heads is "
        "computed, which takes longer",
        stacklevel=4,
    )
    returned: list[Tensor] = []
    config, width = encoder_of(model).config, batch.input_ids.shape[1]
    local = hasattr(config, "attention_window")  # of Longformer: the attention to the tokens of a window
    usual = config._attn_implementation

    def see(result) -> None:
        parts = (part for part in result[1:] if torch.is_tensor(part) and part.dim() == 4)
        returned.extend(part.nan_to_num() for part in parts if part.shape[2] == part.shape[3] == width and not local)
        raise Reached

    try:
        config._attn_implementation = "eager"  # Falcon adds the mask of the fused one, which is bool, to the scores
        with observing(model, layer + 1, see), suppress(Reached):
            forward(model, batch, output_attentions=True)
    finally:
        config._attn_implementation = usual  # ModernBERT in transformers 5.0 changes it permanently
    if not returned:
        raise ValueError(f"{type(model).__name__} does not return the attention of each token to all others")
    return returned[0] if head is None else returned[0][:, head : head + 1]
