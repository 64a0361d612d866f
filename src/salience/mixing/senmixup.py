"""senMixup (Guo, Mao and Zhang, 2019): texts meet as the pooled vector that the last linear map reads."""

from __future__ import annotations

from dataclasses import dataclass

from salience.mixing.interpolation import Interpolation


@dataclass(frozen=True)
class SenMixup(Interpolation):
    """Interpolates sentence vectors v (B, D). W(l v_A + (1 - l) v_B) + b = l (W v_A + b) + (1 - l)(W v_B + b): to mix
    before the last linear map is to mix logits."""

    level = "sentence"
