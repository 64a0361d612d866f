"""Tiny classifiers that read long texts in one of the ways of `--long`."""

from __future__ import annotations

import torch

import families
from salience.classify import TextClassifier
from salience.scores.labels import SEVERAL_LABELS

WORDS = ["the", "a", "film", "about", "old", "men", "and", "dogs", "told", "twice"]


def classifier(long: str, several: bool = False) -> TextClassifier:
    """A BERT of two labels that reads 16 tokens at once and knows `WORDS`.

    Args:
        long: as of `--long`.
        several: whether a text can have both labels.
    """
    torch.manual_seed(0)
    tokenizer = families.tiny_tokenizer([" ".join(WORDS)])
    model = families.build("bert", classes=2, vocabulary=len(tokenizer)).eval()
    model.config.long_texts = long
    if several:
        model.config.problem_type = SEVERAL_LABELS.problem_type
    return TextClassifier(model, tokenizer, 16, "fp32")
