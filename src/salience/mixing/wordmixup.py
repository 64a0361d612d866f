"""wordMixup (Guo, Mao and Zhang, 2019): texts meet as rows of the word-embedding table."""

from __future__ import annotations

from dataclasses import dataclass

from salience.mixing.interpolation import Interpolation


@dataclass(frozen=True)
class WordMixup(Interpolation):
    """Interpolates word rows, before position, LayerNorm and dropout; the AttentionMix paper's first baseline.

    The paper says nothing of alpha ("same way as Mixup"); 0.2 is what the SSMix paper takes.
    """

    level = "words"
