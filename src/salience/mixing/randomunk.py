"""random-UNK (a baseline of Yoon, Kim and Park, 2021, SSMix, appendix B): some tokens are made unknown."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from salience.batch import Batch
from salience.mixing.mix import Mix
from salience.settings import INDEX, PART, check_fields
from salience.spans import part_length, random_places

BERT_UNKNOWN = 100  # of the uncased vocabulary; the published code knows no other


@dataclass(frozen=True)
class RandomUNK:
    """max(floor(window |x|), 1) tokens, drawn at random, become [UNK]; nobody else's text comes in, the label stays.

    `unknown` is the tokenizer's id of it. Where it is None, the training loops ask their tokenizer, and a rule that is
    called by itself takes BERT's.
    """

    window: float = 0.1
    unknown: int | None = None

    guide = None

    def __post_init__(self):
        check_fields(self, {"window": PART, "unknown": INDEX.or_none()})

    def __call__(self, batch: Batch, scores: None = None) -> Mix:
        words = batch.segment > 0
        count = part_length(words.sum(1), self.window).clamp(min=1).minimum(words.sum(1))
        return Mix(
            level="tokens",
            partner=torch.arange(len(batch), device=words.device),
            keep=~random_places(words, count),
            share=torch.ones(len(batch), device=words.device),
            donor=torch.full_like(batch.input_ids, BERT_UNKNOWN if self.unknown is None else self.unknown),
        )
