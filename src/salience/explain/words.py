"""From the scores of tokens to the scores of words, by the tokenizer's own offsets."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

Span = tuple[int, int]  # from character, to character


def word_spans(text: str) -> list[Span]:
    """Where the words of a text stand: what white space parts."""
    return [match.span() for match in re.finditer(r"\S+", text)]


def merge_pieces(scores: Sequence[float], offsets: Sequence[Span], words: Sequence[Span]) -> np.ndarray:
    """The score of each word (W,): the sum over its pieces.

    Args:
        scores: one a token of the text.
        offsets: the characters that each token covers; an empty span, as special tokens have, is no word's.
        words: spans in order of place, not overlapping.
    """
    merged = np.zeros(len(words))
    ends = np.array([end for _, end in words])
    for score, (start, end) in zip(scores, offsets, strict=True):
        word = int(np.searchsorted(ends, start, side="right"))
        if start < end and word < len(words):
            merged[word] += score
    return merged
