"""Dropout by 16 random bits a unit (Srivastava et al., 2014, JMLR 15:1929-1958).

torch draws a number of 53 bits for each unit on a processor. That takes half of a training step of a model over word
embeddings, and a twentieth of one of an encoder.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

LEVELS = 1 << 16  # of the random numbers, by which a unit is kept or dropped


def random_bits(shape: Sequence[int]) -> Tensor:
    """Whole numbers from -32768 to 32767, all equally likely, as int16.

    They come from torch's generator: a seed repeats them, and so does a resumed run.
    """
    count = math.prod(shape)
    numbers = torch.empty(math.ceil(count / 4), dtype=torch.int64).random_(-(2**63), None)  # all 64 bits
    return numbers.view(torch.int16)[:count].view(*shape)


def with_dropout(values: Tensor, probability: float) -> Tensor:
    """The values (any shape), each 0 with a probability, by itself, and the others divided by 1 minus it.

    On a processor the probability is rounded to a multiple of 1 / `LEVELS`.
    """
    dropped = round(probability * LEVELS)
    if values.device.type != "cpu" or not 0 < dropped < LEVELS or torch.compiler.is_compiling():
        return nn.functional.dropout(values, probability)
    keep = (random_bits(values.shape) >= dropped - LEVELS // 2).to(values.dtype).mul_(LEVELS / (LEVELS - dropped))
    return values * keep


class Dropout(nn.Dropout):
    """As `torch.nn.Dropout`, by `with_dropout`."""

    def forward(self, input: Tensor) -> Tensor:
        """The values (any shape) with some of them dropped in training mode, and all of them otherwise."""
        return with_dropout(input, self.p) if self.training else input


@contextmanager
def by_few_bits(model: nn.Module) -> Iterator[None]:
    """Inside the `with`, the dropout layers of a model are `Dropout`."""
    layers = [each for each in model.modules() if type(each) is nn.Dropout and not each.inplace]
    for layer in layers:
        layer.__class__ = Dropout
    try:
        yield
    finally:
        for layer in layers:
            layer.__class__ = nn.Dropout
