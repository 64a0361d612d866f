"""Attention that is computed by a function of this library, which transformers' attention interface calls by a name.

Hooks do not see queries, keys and values; the interface passes them to the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import sdpa_mask


def has_interface(encoder: nn.Module) -> bool:
    """Whether the encoder uses transformers' attention interface, as most encoders of transformers do."""
    return getattr(type(encoder), "_can_set_attn_implementation", lambda: False)()


def register(name: str, function: Callable) -> None:
    """Registers a function of attention, with the mask that fused attention takes.

    Args:
        name: never saved with a model.
        function: as those of the interface; the mask is bool, or None if nothing is padded.
    """
    AttentionInterface.register(name, function)
    AttentionMaskInterface.register(name, sdpa_mask)  # otherwise the mask is None, and padding is attended to


@contextmanager
def attending_by(encoder: PreTrainedModel, name: str) -> Iterator[None]:
    """Inside the `with`, the attention of an encoder that has the interface is computed by a registered function."""
    usual = encoder.config._attn_implementation
    encoder.set_attn_implementation(name)
    try:
        yield
    finally:
        encoder.set_attn_implementation(usual)
