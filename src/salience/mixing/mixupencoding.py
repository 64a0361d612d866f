"""MixupEncoding (Lewy and Mańdziuk, 2023, section 5.3): texts meet after the whole encoder, before the pooler."""

from __future__ import annotations

from dataclasses import dataclass

from salience.mixing.interpolation import Interpolation


@dataclass(frozen=True)
class MixupEncoding(Interpolation):
    """Interpolates the hidden states of the last layer: TMix at L, the AttentionMix paper's second baseline.

    The tanh of BERT's pooler lies between here and the logits, so this is not senMixup.
    """

    level = 1.0  # all of the model's depth
