"""wordMixup (Guo, Mao and Zhang, 2019, arXiv:1905.08941): Mixup of rows of the word-embedding table."""

from __future__ import annotations

from dataclasses import dataclass

from salience.mixing.interpolation import Interpolation


@dataclass(frozen=True)
class WordMixup(Interpolation):
    """Interpolates word embeddings, before positions, LayerNorm and dropout; the first baseline of AttentionMix.

    The AttentionMix paper (arXiv:2309.11104) gives no alpha ("same way as Mixup"); 0.2 is the SSMix paper's value.
    """

    level = "words"
