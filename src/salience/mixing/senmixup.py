"""senMixup (Guo, Mao and Zhang, 2019, arXiv:1905.08941): Mixup of sentence vectors, the last linear map's input."""

from __future__ import annotations

from dataclasses import dataclass

from salience.mixing.interpolation import Interpolation


@dataclass(frozen=True)
class SenMixup(Interpolation):
    """Interpolates sentence vectors v (B, D).

    Only a linear map follows, so this is the interpolation of the logits:
    W(l v_A + (1 - l) v_B) + b = l (W v_A + b) + (1 - l)(W v_B + b).
    """

    level = "sentence"
