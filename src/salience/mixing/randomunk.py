"""random-UNK (Yoon, Kim and Park, 2021, arXiv:2106.08062, appendix B, a baseline of SSMix): random [UNK] tokens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from salience.batch import Batch
from salience.errors import InputError
from salience.hooks.stages import unwrapped
from salience.mixing.method import Method
from salience.mixing.mix import Mix
from salience.settings import PART, check_settings, setting, whole_between
from salience.spans import part_length, random_places

BERT_UNKNOWN = 100  # in BERT's uncased vocabulary; the published code always uses it
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RandomUNK(Method):
    """Replaces max(floor(window |x|), 1) random tokens by [UNK]. No partner takes part, and the label is kept.

    A rule that is called without `resolve` uses 100, the id of [UNK] in BERT's uncased vocabulary.
    """

    window: float = setting(0.1, PART, "fraction of the tokens that are replaced")
    unknown: int | None = setting(None, whole_between(0, 2**31 - 1), "id of the unknown token", "the tokenizer's")

    def __post_init__(self):
        check_settings(self)

    def resolve(
        self, model: nn.Module, tokenizer: Any, batches: Iterable[Batch], note: Callable[[str], None] = logger.info
    ) -> RandomUNK:
        """The method with the id of the tokenizer's unknown token, or BERT's if the tokenizer has none."""
        unknown = getattr(tokenizer, "unk_token_id", None) if self.unknown is None else self.unknown
        unknown = BERT_UNKNOWN if unknown is None else unknown
        last = len(unwrapped(model).get_input_embeddings().weight) - 1  # type: ignore[arg-type]
        if unknown > last:
            raise InputError(f"unknown={unknown}: the model's tokens are numbered from 0 to {last}")
        return replace(self, unknown=unknown)

    def __call__(self, batch: Batch, scores: None = None) -> Mix:
        """The batch with random tokens replaced; every text is its own partner."""
        words = batch.segment > 0
        count = part_length(words.sum(1), self.window).clamp(min=1).minimum(words.sum(1))
        return Mix(
            level="tokens",
            partner=torch.arange(len(batch), device=words.device),
            keep=~random_places(words, count),
            share=torch.ones(len(batch), device=words.device),
            donor=torch.full_like(batch.input_ids, BERT_UNKNOWN if self.unknown is None else self.unknown),
            attend="own",
        )
