"""A batch of texts as a value.

Letters used in every shape of the library: B batch, T tokens, D width, C classes, L encoder layers, H heads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """B texts as token ids, padded on the right to the same length T.

    Attributes:
        input_ids: (B, T) long, token ids.
        attention_mask: (B, T), 1 for tokens, special tokens included, and 0 for padding.
        segment: (B, T), which part of the input a token belongs to: 0 for special tokens and padding, 1 for the text,
            2 for the second text of a pair. Mixing rules and explainers thus need no special ids of a tokenizer.
        labels: (B,) long, class numbers, or (B, C) long, 0 and 1, where texts are multi-label; None for texts
            without labels.
        token_type_ids: (B, T), the tokenizer's types of the tokens, 0 on padding, which models that have types read;
            None if the tokenizer gives none.
    """

    input_ids: Tensor
    attention_mask: Tensor
    segment: Tensor
    labels: Tensor | None = None
    token_type_ids: Tensor | None = None

    def __len__(self) -> int:
        return len(self.input_ids)

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        moved: dict[str, Any] = {
            name: part if part is None else part.to(device, non_blocking=True) for name, part in vars(self).items()
        }
        return Batch(**moved)

    def with_ids(self, input_ids: Tensor) -> Batch:
        """The same batch with other tokens (B, T) at the same positions."""
        return replace(self, input_ids=input_ids)
