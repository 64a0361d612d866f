"""MixupEncoding (Lewy and Mańdziuk, 2023, arXiv:2309.11104, section 5.3): Mixup after the last encoder layer."""

from __future__ import annotations

from dataclasses import dataclass

from salience.mixing.interpolation import Interpolation


@dataclass(frozen=True)
class MixupEncoding(Interpolation):
    """Interpolates the hidden states of the last layer: TMix at layer L, the second baseline of AttentionMix.

    It differs from senMixup where a pooler with an activation, such as BERT's tanh, lies between here and the logits.
    """

    level = 1.0  # fraction of the model's depth
