"""Words, and which word each token of a text is a part of."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

SPECIAL = -1  # in `Words.of_tokens`: the token is a part of no word
Span = tuple[int, int]  # the first character of a word, and the character after its last
Spans = Callable[[str], list[Span]]  # the words of a text, in order and without overlaps


def word_spans(text: str) -> list[Span]:
    """The words of a text: what is separated by white space."""
    return [match.span() for match in re.finditer(r"\S+", text)]


@dataclass(frozen=True, eq=False)
class Words:
    """The words of N encoded texts. The words of a second text are numbered on from those of the first.

    Args:
        of_tokens: int, flat over the tokens of all texts: the number in its text of the word that a token is a part
            of, 0 to W - 1, or `SPECIAL`.
        counts: (N,) int, the number of words W of each text, as far as it is read.
        names: the W words of each text, as they are written.
        second: the number of the first word of each second text; None for single texts.
    """

    of_tokens: np.ndarray
    counts: np.ndarray
    names: list[list[str]]
    second: list[int | None]

    @classmethod
    def joined(cls, parts: Sequence[tuple[np.ndarray, list[str], int | None]]) -> Words:
        """The words of N texts, each given as `words_of_tokens` returns them."""
        of_tokens = [np.zeros(0, np.int32), *(numbers for numbers, _, _ in parts)]
        names = [of_text for _, of_text, _ in parts]
        counts = np.array([len(of_text) for of_text in names], np.int64)
        return cls(np.concatenate(of_tokens), counts, names, [second for _, _, second in parts])

    def take(self, rows: np.ndarray, tokens: np.ndarray) -> Words:
        """The words of the texts at `rows` (R,), whose tokens are at `tokens`, flat over all texts."""
        return Words(
            self.of_tokens[tokens], self.counts[rows], [self.names[row] for row in rows],
            [self.second[row] for row in rows],
        )  # fmt: skip


def words_of_tokens(
    segment: np.ndarray, offsets: Sequence[Span], texts: Sequence[str], spans: Spans
) -> tuple[np.ndarray, list[str], int | None]:
    """The words of one text, or of one pair of texts, as far as it is read.

    Args:
        segment: (T,) 1 for tokens of the first text, 2 for those of the second, 0 for special tokens.
        offsets: the characters of each of the T tokens in its text, as the tokenizer gives them.
        texts: the text, or both texts of the pair.

    Returns:
        The number of each token's word (T,) int32 or `SPECIAL`, the words as they are written, and the number of the
        first word of the second text, None for a single text.

    Raises:
        ValueError: `spans` gives words that are not in order, or that overlap.
    """
    numbers = np.full(len(offsets), SPECIAL, np.int32)
    names: list[str] = []
    firsts: list[int] = []  # the number of the first word of each text
    for part, text in enumerate(texts, 1):
        firsts.append(len(names))
        words = spans(text)
        if any(start < end for (_, end), (start, _) in pairwise(words)):
            raise ValueError("the spans of words must be in order and must not overlap")
        ends = np.array([end for _, end in words])
        read = 0
        for position in np.flatnonzero(segment == part).tolist():
            start, end = offsets[position]
            word = int(np.searchsorted(ends, start, side="right"))
            if start < end and word < len(ends) and words[word][0] < end:
                numbers[position] = firsts[-1] + word
                read = word + 1  # only the end of a text can be cut off
        names += [text[start:end] for start, end in words[:read]]
    return numbers, names, firsts[1] if len(firsts) > 1 else None
