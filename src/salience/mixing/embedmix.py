"""EmbedMix (Yoon, Kim and Park, 2021, arXiv:2106.08062, a baseline of SSMix): Mixup of embeddings with positions."""

from __future__ import annotations

from dataclasses import dataclass

from salience.mixing.interpolation import Interpolation
from salience.mixing.pairing import Pairing, swap_halves


@dataclass(frozen=True)
class EmbedMix(Interpolation):
    """Interpolates embeddings after positions and LayerNorm: wordMixup (arXiv:1905.08941) one step later in the model.

    The defaults are those of the SSMix paper (section 3.2): l ~ Beta(0.2, 0.2), its larger side, one l for a batch.
    """

    largest: bool = True
    pair: Pairing = swap_halves

    level = "embeddings"
