"""The number format of a computation: float32, or bfloat16 where the device multiplies matrices faster in it.

In bf16, matrix products and linear layers are computed in bfloat16, and everything else in float32 (torch's autocast).
Weights, gradients and the optimizer's state stay in float32.
"""

from __future__ import annotations

import timeit
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache, partial

import torch
from transformers import PreTrainedModel

from salience.errors import unknown
from salience.hooks.attention import differentiating
from salience.hooks.packing import pooling_two
from salience.models.architectures import architecture

PRECISIONS = ("auto", "fp32", "bf16")
GAIN = 0.8  # bf16 must take less than this share of the time of fp32
SHAPE = (512, 384, 1536)  # tokens x inputs x outputs, as in the feed-forward layers of a small encoder
TRIES = 5

_default: ContextVar[str] = ContextVar("default", default="auto")


def check_precision(precision: str) -> None:
    """Raises an `InputError` if a precision is not one of `PRECISIONS`."""
    if precision not in PRECISIONS:
        raise unknown("--precision", precision, PRECISIONS)


def for_predictions(precision: str) -> str:
    """The precision in which a classifier predicts that was trained in this one. fp16, with scaled losses, is fp32."""
    return "fp32" if precision == "fp16" else precision


@contextmanager
def default_precision(precision: str) -> Iterator[None]:
    """Inside the `with`, "auto" stands for this precision, except for models over words."""
    check_precision(precision)
    token = _default.set(precision)
    try:
        yield
    finally:
        _default.reset(token)


def resolve_precision(precision: str, device: torch.device, model: PreTrainedModel | None = None) -> str:
    """The precision that "auto" stands for on a device; every other one is returned as it is.

    "auto" is bf16 where the device multiplies matrices in it natively and faster: on GPUs of compute capability 8 and
    more, and on processors with AVX512_BF16 or AMX if a few products (a tenth of a second in all) confirm it: there
    are processors with these instructions on which fp32 is faster. Models over words stay in fp32: their products are
    so small that the conversions cost more than bf16 gains. Without a model, it is that of a transformer.
    """
    if precision != "auto":
        return precision
    if model is not None and architecture(model).reads_words:
        return "fp32"
    if _default.get() != "auto":
        return _default.get()
    return "bf16" if has_fast_bf16(device.type) else "fp32"


@contextmanager
def exactly() -> Iterator[None]:
    """Inside the `with`, everything is computed in fp32, also within `computing`.

    It is for small differences of probabilities: in bf16, logits have a precision of 8 bits.
    """
    with torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False):
        yield


@contextmanager
def computing(model: PreTrainedModel, precision: str) -> Iterator[None]:
    """Inside the `with`, a model computes in a precision: "auto", "fp32" or "bf16". See `pooling_two`, too."""
    device = model.device
    half = resolve_precision(precision, device, model) == "bf16"
    attending = differentiating(model) if half else nullcontext()
    with torch.autocast(device.type, torch.bfloat16, enabled=half), attending, pooling_two(model):
        yield


@cache
def has_fast_bf16(device: str) -> bool:
    """Whether matrix products are faster in bf16 than in fp32 on a type of device; found out once in a process."""
    if device == "cuda":
        return torch.cuda.get_device_capability() >= (8, 0)
    return device == "cpu" and has_bf16_instructions() and is_bf16_faster()


def has_bf16_instructions() -> bool:
    """Whether the processor has instructions for products in bf16; unknown to a version of torch counts as none."""
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")  # not in torch's public interface
    return any(getattr(torch.cpu, name, lambda: False)() for name in names)


def is_bf16_faster() -> bool:
    """Whether a linear layer takes less than `GAIN` of the time in bf16, by the fastest of a few tries of each."""
    tokens, inputs, outputs = SHAPE
    seconds = {}
    with torch.inference_mode():
        for dtype in (torch.float32, torch.bfloat16):
            texts, weights = torch.ones(tokens, inputs, dtype=dtype), torch.ones(outputs, inputs, dtype=dtype)
            product = partial(torch.nn.functional.linear, texts, weights)
            product()  # the first one is slower
            seconds[dtype] = min(timeit.repeat(product, number=1, repeat=TRIES))
    return seconds[torch.bfloat16] < GAIN * seconds[torch.float32]
