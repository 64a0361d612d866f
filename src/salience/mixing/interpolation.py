"""Mixup with one weight for texts and labels (Zhang et al., 2018, arXiv:1710.09412). The methods choose the level.

x~ = l x_A + (1 - l) x_B        y~ = l y_A + (1 - l) y_B        l ~ Beta(alpha, alpha)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from salience.batch import Batch
from salience.mixing.method import Method, Pairing, shuffle, swap_halves
from salience.mixing.mix import LEVEL, Dropout, Mix
from salience.settings import BOOL, FUNCTION, PART, POSITIVE, SHARE, Kind, check_settings, setting


@dataclass(frozen=True)
class Interpolation(Method):
    """Interpolates representations and labels with the same weight l."""

    alpha: float = setting(
        0.2, POSITIVE, "parameter of l ~ Beta(alpha, alpha); small values keep mixtures close to one text"
    )
    largest: bool = setting(False, BOOL, "whether max(l, 1 - l) is used, so that texts keep the larger weight")
    ratio: float | None = setting(None, PART, "fixed value of l", "l is drawn")
    # Papers do not specify it; published code draws one l for a batch.
    per_example: bool = setting(False, BOOL, "whether l is drawn for each text instead of for each batch")
    pair: Pairing = setting(shuffle, FUNCTION, "how partners are chosen")

    level: ClassVar[str | int | float]  # where texts meet; set by subclasses

    def __post_init__(self):
        check_settings(self)

    def __call__(self, batch: Batch, scores: None = None) -> Mix:
        """The interpolation of a batch: `keep` is (B, 1, 1), or (B, 1) for sentence vectors, and equal to `share`."""
        level = self.draw_level()
        share = draw_weights(len(batch), self.alpha, self.largest, self.ratio, self.per_example)
        share = share.to(batch.input_ids.device)
        keep = share[:, None] if level == "sentence" else share[:, None, None]  # for (B, D) or (B, T, D)
        return Mix(level, self.pair(batch), keep=keep, share=share, attend="both")

    def draw_level(self) -> str | int | float:
        return self.level


def draw_weights(
    count: int, alpha: float, largest: bool = False, ratio: float | None = None, per_example: bool = True
) -> Tensor:
    """Mixup weights l ~ Beta(alpha, alpha) for `count` texts: (count,) float in [0, 1], on the CPU.

    Arguments are those of `Interpolation`.
    """
    # Drawn on the CPU, so that a seed gives the same weights on every device.
    if ratio is not None:
        return torch.full((count,), float(ratio))
    drawn = torch.distributions.Beta(alpha, alpha).sample((count if per_example else 1,)).expand(count)
    return torch.maximum(drawn, 1 - drawn) if largest else drawn


@dataclass(frozen=True)
class WordMixup(Interpolation):
    """wordMixup (Guo, Mao and Zhang, 2019, arXiv:1905.08941): interpolates word embeddings.

    They are mixed before positions, LayerNorm and dropout. It is the first baseline of AttentionMix, whose paper
    (arXiv:2309.11104) gives no alpha ("same way as Mixup"); 0.2 is the SSMix paper's value.
    """

    level = "words"


@dataclass(frozen=True)
class EmbedMix(Interpolation):
    """EmbedMix, a baseline of SSMix (Yoon, Kim and Park, 2021, arXiv:2106.08062): wordMixup one step later.

    Embeddings are interpolated after positions and LayerNorm. The defaults are those of section 3.2: l ~ Beta(0.2,
    0.2), its larger side, one l for a batch.
    """

    largest: bool = True
    pair: Pairing = swap_halves

    level = "embeddings"


LEVELS = Kind(
    "a list of levels above the tokens: names, layer numbers, or fractions of the depth from 0 to 1",
    lambda value: isinstance(value, tuple) and len(value) > 0 and all(map(LEVEL.fits, value)),
)


@dataclass(frozen=True)
class TMix(Interpolation):
    """TMix (Chen, Yang and Yang, 2020, MixText, arXiv:2004.12239): interpolates hidden states of a random layer.

    The layer is drawn for every batch. Later layers attend to both texts. The defaults are those of the SSMix paper
    (section 3.2): alpha 0.2, the larger side, layers 7, 9 and 12 of BERT's 12.
    """

    levels: tuple[int | float | str, ...] = setting(
        (7 / 12, 9 / 12, 12 / 12), LEVELS, "levels from which one is drawn for each batch; fractions of the depth are "
        "rounded up to a layer",
    )  # fmt: skip
    largest: bool = True
    pair: Pairing = swap_halves

    def draw_level(self) -> str | int | float:
        return self.levels[int(torch.randint(len(self.levels), ()))]


@dataclass(frozen=True)
class MixupEncoding(Interpolation):
    """Interpolates the last layer's hidden states, TMix at layer L (Lewy and Mańdziuk, 2023, arXiv:2309.11104, 5.3).

    It is the second baseline of AttentionMix. It differs from senMixup where a pooler with an activation, such as
    BERT's tanh, lies between here and the logits.
    """

    level = 1.0  # fraction of the model's depth


@dataclass(frozen=True)
class SenMixup(Interpolation):
    """senMixup (Guo, Mao and Zhang, 2019, arXiv:1905.08941): interpolates sentence vectors v (B, D).

    Only a linear map follows, so this is the interpolation of the logits:
    W(l v_A + (1 - l) v_B) + b = l (W v_A + b) + (1 - l)(W v_B + b).
    """

    level = "sentence"


@dataclass(frozen=True)
class DropoutMixup(Interpolation):
    """A baseline of DropMix (Kong et al., 2022, doi:10.18653/v1/2022.emnlp-main.57, section 5.2): mixup after dropout.

    Embeddings are interpolated: x~ = (l M_A * x_A + (1 - l) M_B * x_B) / (1 - dropout). Entries of the masks M are 1
    with probability 1 - dropout. The paper writes M ~ Bernoulli(p) with a "dropout ratio" p of 0.1, which would drop
    nine tenths. Its models have no other dropout (set `hidden_dropout_prob` and the like to 0), and are trained on
    mixtures only.
    """

    alpha: float = 0.1
    dropout: float = setting(0.1, SHARE, "probability that an entry is set to zero in training mode")

    level = "embeddings"

    def __call__(self, batch: Batch, scores: None = None) -> Mix:
        seed = int(torch.randint(2**62, ()))
        return replace(super().__call__(batch), dropout=Dropout(self.dropout, seed))
