"""Dropout+Mixup (a baseline of Kong et al., 2022, DropMix, section 5.2): dropped-out embeddings are interpolated."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from salience.batch import Batch
from salience.mixing.interpolation import Interpolation
from salience.mixing.mix import Dropout, Mix
from salience.settings import SHARE, check_fields


@dataclass(frozen=True)
class DropoutMixup(Interpolation):
    """x~ = (l M_A * x_A + (1 - l) M_B * x_B) / (1 - dropout), every entry of M kept with probability 1 - dropout.

    The paper writes M ~ Bernoulli(p) for a "dropout ratio" p of 0.1, which would drop nine tenths. Its rows train a
    model whose own dropout is off (set `hidden_dropout_prob` and its like to 0), on mixtures only.
    """

    alpha: float = 0.1
    dropout: float = 0.1

    level = "embeddings"

    def __post_init__(self):
        super().__post_init__()
        check_fields(self, {"dropout": SHARE})

    def __call__(self, batch: Batch, scores: None = None) -> Mix:
        seed = int(torch.randint(2**62, ()))
        return replace(super().__call__(batch), dropout=Dropout(self.dropout, seed))
