"""AttentionMix (Lewy and Mańdziuk, 2023, arXiv:2309.11104): tokens are interpolated by the attention they receive."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from torch import Tensor, nn

from salience.batch import Batch
from salience.errors import InputError
from salience.explainers.attention import Attention
from salience.mixing.heads import rank_heads
from salience.mixing.method import Method, Pairing, shuffle
from salience.mixing.mix import LEVEL, Mix
from salience.settings import BOOL, FUNCTION, WHOLE, Kind, check_settings, is_whole, one_of, setting

HEAD = Kind("a head's number or auto", lambda value: is_whole(value) or value == "auto")
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class AttentionMix(Method):
    """Interpolates token j with the weight l_j = b_j / (b_j + b'_j) (Eq. 7).

    b_j is the attention that the token receives in its own text (Eq. 5 and 6), b'_j the same at position j of the
    partner. Where only one of the texts has a token, that token is kept whole. The label's share is the mean of l_j
    over the positions where either text has a token; with uniform attention it is n / (n + n'). Without `specials`,
    these are the positions of words, and a [SEP] that displaces a word counts for its text.
    """

    layer: int = setting(0, WHOLE, "layer whose attention is used; 0 is the first layer, -1 the last")
    head: int | Literal["auto"] | None = setting(
        None, HEAD, "head whose attention is used; auto selects head and layer on the training data",
        "the mean of the layer's heads",
    )  # fmt: skip
    level: str | int | float = setting("words", LEVEL, "level at which texts are mixed")
    specials: bool = setting(True, BOOL, "whether [CLS] and [SEP] are mixed and counted too")
    denominator: str = setting(
        "both",
        one_of("both", "own"),
        "positions over which the share of the label is a mean: both texts', or its own",
    )
    mean: bool = setting(True, BOOL, "whether the attention received is divided by the length of the text")
    pair: Pairing = setting(shuffle, FUNCTION, "how partners are chosen")

    def __post_init__(self):
        check_settings(self)
        if self.level == "sentence":
            raise InputError("level='sentence': a sentence vector has no tokens to weight; give a level below it")

    @property
    def guide(self) -> Attention:  # type: ignore[override]  # follows from the fields
        """The attention that tokens receive (B, T); a ValueError if `head` is "auto" and has not been resolved."""
        if self.head == "auto":
            raise ValueError(
                "head='auto' is chosen on the training data: call `resolve`, as the training loops do, or give a head"
            )
        return Attention(self.layer, self.head, self.mean)

    def resolve(
        self, model: nn.Module, tokenizer: Any, batches: Iterable[Batch], note: Callable[[str], None] = logger.info
    ) -> AttentionMix:
        """With `head="auto"`, the method with the head that `rank_heads` ranks first on `batches`; else itself."""
        if self.head != "auto":
            return self
        best = rank_heads(model, batches)[0]
        note(
            f"AttentionMix uses head {best.head} of layer {best.layer}: of all heads, its attention agrees best with "
            f"the gradient of the loss (rank correlation {best.agreement:.2f})"
        )
        return replace(self, layer=best.layer, head=best.head)

    def __call__(self, batch: Batch, scores: Tensor) -> Mix:
        """The mixture of a batch by the attention `scores` (B, T) that its tokens receive. `keep` is (B, T, 1)."""
        partner = self.pair(batch)
        own = batch.attention_mask.bool()
        weighted = own if self.specials else batch.segment > 0
        both = weighted & weighted[partner]
        total = scores + scores[partner]
        ratio = (scores / total).where(total > 0, 0.5)
        keep = ratio.where(both, own.to(ratio.dtype))

        counted = weighted if self.denominator == "own" else weighted | weighted[partner]
        share = (keep * counted).sum(1) / counted.sum(1).clamp(min=1)
        share = share.where(counted.any(1), 1)
        return Mix(self.level, partner, keep=keep[..., None], share=share, attend="both")
