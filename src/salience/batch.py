"""A batch of texts as a value.

Letters used in every shape of the library: B batch, T tokens, D width, C classes, L encoder layers, H heads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Texts as token ids, padded on the right to one length.

    `segment` says which part of a text a token belongs to, so that no rule needs to know a tokenizer's special ids:
    0 special tokens and padding, 1 the text, 2 the second text of a pair.
    """

    input_ids: Tensor  # (B, T) long
    attention_mask: Tensor  # (B, T) 1 where there is a token, special tokens included
    segment: Tensor  # (B, T) 0, 1 or 2
    labels: Tensor | None = None  # (B,) long

    def __len__(self) -> int:
        return len(self.input_ids)

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        given = {name: part for name, part in vars(self).items() if part is not None}
        return replace(self, **{name: part.to(device, non_blocking=True) for name, part in given.items()})

    def with_ids(self, input_ids: Tensor) -> Batch:
        """The same batch with other tokens in the same places."""
        return replace(self, input_ids=input_ids)
