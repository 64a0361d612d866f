"""EmbedMix (the name: Yoon, Kim and Park, 2021; wordMixup: Guo, Mao and Zhang, 2019): texts meet as embeddings."""

from __future__ import annotations

from dataclasses import dataclass

from salience.batch import Batch
from salience.mixing.interpolation import draw_weight, interpolate
from salience.mixing.mix import Mix
from salience.mixing.pairing import Pairing, swap_halves


@dataclass(frozen=True)
class EmbedMix:
    """Interpolates the output of the embedding block: x~ = l x_A + (1 - l) x_B, y~ = l y_A + (1 - l) y_B.

    The defaults are the SSMix paper's (section 3.3): l ~ Beta(0.2, 0.2), its larger side, one l for a batch.
    """

    alpha: float = 0.2
    largest: bool = True  # l := max(l, 1 - l)
    ratio: float | None = None  # fixes l instead of drawing it
    pair: Pairing = swap_halves

    guide = None

    def __call__(self, batch: Batch, scores: None = None) -> Mix:
        weight = draw_weight(self.alpha, self.largest) if self.ratio is None else self.ratio
        return interpolate(batch, "embeddings", self.pair, weight)
