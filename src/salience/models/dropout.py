"""Dropout whose mask is drawn quickly on a CPU (Srivastava et al., 2014, JMLR 15:1929-1958)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

LEVELS = 2**16  # a unit is dropped by 16 random bits, four units by one number of 64 bits


class Dropout(nn.Dropout):
    """As `torch.nn.Dropout`: every unit is 0 with probability p, by itself, and the others are divided by 1 - p.

    torch draws a number of 53 bits for each unit on a CPU, which takes half of a training step of a model over word
    embeddings. Here p is rounded to a multiple of 1/65536, and units are divided by 1 minus the rounded p, so that
    their mean is kept. The bits come from torch's generator: a seed repeats them, and so does a resumed run.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The values (any shape) with some of them dropped in training mode, and all of them otherwise."""
        dropped = round(self.p * LEVELS)
        if not self.training or input.device.type != "cpu" or not 0 < dropped < LEVELS:
            return super().forward(input)
        count = input.numel()
        numbers = torch.empty(math.ceil(count / 4), dtype=torch.int64).random_(-(2**63), None)  # all 64 bits
        bits = numbers.view(torch.int16)[:count].view(input.shape)  # -32768 to 32767
        keep = (bits >= dropped - LEVELS // 2).to(input.dtype).mul_(LEVELS / (LEVELS - dropped))
        return input * keep
