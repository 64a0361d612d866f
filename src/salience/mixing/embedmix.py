"""EmbedMix (the name: Yoon, Kim and Park, 2021; wordMixup: Guo, Mao and Zhang, 2019): texts meet as embeddings."""

from __future__ import annotations

from dataclasses import dataclass

from salience.mixing.interpolation import Interpolation
from salience.mixing.pairing import Pairing, swap_halves


@dataclass(frozen=True)
class EmbedMix(Interpolation):
    """Interpolates the output of the embedding block, after position and LayerNorm.

    The defaults are the SSMix paper's (section 3.2): l ~ Beta(0.2, 0.2), its larger side, one l for a batch.
    """

    largest: bool = True
    pair: Pairing = swap_halves

    level = "embeddings"
