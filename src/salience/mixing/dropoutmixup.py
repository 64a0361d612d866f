"""Dropout+Mixup (a baseline of Kong et al., 2022, DropMix, doi:10.18653/v1/2022.emnlp-main.57, section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from salience.batch import Batch
from salience.mixing.interpolation import Interpolation
from salience.mixing.mix import Dropout, Mix
from salience.settings import SHARE, setting


@dataclass(frozen=True)
class DropoutMixup(Interpolation):
    """Interpolates embeddings after dropout: x~ = (l M_A * x_A + (1 - l) M_B * x_B) / (1 - dropout).

    Entries of the masks M are 1 with probability 1 - dropout. The paper writes M ~ Bernoulli(p) with a "dropout ratio"
    p of 0.1, which would drop nine tenths. Its models have no other dropout (set `hidden_dropout_prob` and the like to
    0), and are trained on mixtures only.
    """

    alpha: float = 0.1
    dropout: float = setting(0.1, SHARE, "probability that an entry is set to zero in training mode")

    level = "embeddings"

    def __call__(self, batch: Batch, scores: None = None) -> Mix:
        """The interpolation of a batch, with the seed of its dropout masks."""
        seed = int(torch.randint(2**62, ()))
        return replace(super().__call__(batch), dropout=Dropout(self.dropout, seed))
