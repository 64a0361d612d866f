"""AttentionMix (Lewy and Mańdziuk, 2023): every token is mixed by the attention that it and its partner receive."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from salience.batch import Batch
from salience.explainers.attention import Attention
from salience.mixing.mix import Mix
from salience.mixing.pairing import Pairing, shuffle
from salience.settings import BOOL, LEVEL, WHOLE, check_fields, is_whole, shown


@dataclass(frozen=True)
class AttentionMix:
    """l_j = b_j / (b_j + b'_j) for token j (Eq. 7): b is the attention it receives in its own text, b' its partner's.

    Where only one of the texts has a token, that token stays whole. The label's share is the mean of l over the places
    where either has one; with even attention it is n / (n + n').
    """

    layer: int = 0  # whose attention; 0 is the first
    head: int | str | None = None  # None: the mean of the layer's heads; "auto": chosen on the data, with its layer
    level: str | int | float = "words"  # where texts meet; a layer is what the paper leaves for later
    specials: bool = True  # False: [CLS] and [SEP] are neither mixed nor counted
    denominator: str = "both"  # "own": the share is the mean over one's own tokens only
    mean: bool = True  # False: attention received is not divided by the text's length
    pair: Pairing = shuffle

    def __post_init__(self):
        check_fields(self, {"layer": WHOLE, "level": LEVEL, "specials": BOOL, "mean": BOOL})
        if self.head not in (None, "auto") and not is_whole(self.head):
            raise ValueError(f"head is a number, None or 'auto', not {shown(self.head)}")
        if self.denominator not in ("both", "own"):
            raise ValueError(f"denominator is 'both' or 'own', not {shown(self.denominator)}")
        if self.level == "sentence":
            raise ValueError("a sentence vector has no tokens to weigh; give a level at which there are")

    @property
    def guide(self) -> Attention:
        if self.head == "auto":
            raise ValueError("head='auto' is for training loops that know the data: `rank_heads` shows the heads")
        return Attention(self.layer, self.head, self.mean)

    def __call__(self, batch: Batch, scores: Tensor) -> Mix:
        partner = self.pair(batch)
        own, weighed = batch.attention_mask.bool(), (batch.segment > 0)
        if self.specials:
            weighed = own
        total = scores + scores[partner]
        ratio = (scores / total).where(total > 0, 0.5)
        keep = ratio.where(weighed & weighed[partner], own.to(ratio.dtype))

        counted = weighed if self.denominator == "own" else weighed | weighed[partner]
        share = (keep * counted).sum(1) / counted.sum(1).clamp(min=1)
        share = share.where(counted.any(1), 1)
        return Mix(self.level, partner, keep=keep[..., None], share=share)
