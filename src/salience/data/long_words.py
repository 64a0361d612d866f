"""Words that are longer than what is read at once, as texts in Chinese, Japanese or Thai are, and their pieces."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from salience.data.words import Span, word_spans


class Tokenised(NamedTuple):
    """A text, and the characters of each of its T tokens."""

    text: str
    offsets: list[Span]


class Units(NamedTuple):
    """The units of a text, which are not divided: words, and the tokens of longer words.

    Args:
        spans: the characters of each of U units, in order.
        words: for each unit, the number in its text of the word that it is, or is a piece of.
        ends: for each unit, how many tokens of the text begin before its end.
    """

    spans: list[Span]
    words: list[int]
    ends: list[int]

    @property
    def divides(self) -> bool:
        """Whether there are pieces of words."""
        return len(set(self.words)) < len(self.words)


def tokenised(tokenizer, texts: list[str]) -> list[Tokenised]:
    """Texts with the characters of their tokens, of all of each text and without special tokens."""
    encodings = tokenizer(texts, add_special_tokens=False, truncation=False, verbose=False).encodings
    return [Tokenised(text, encoding.offsets) for text, encoding in zip(texts, encodings, strict=True)]


def units_of(whole: Tokenised, longest: int) -> Units:
    """The words of a text. One of more than `longest` tokens is divided wherever a token begins."""
    text, offsets = whole
    starts = [start for start, _ in offsets]
    spans, words = list[Span](), list[int]()
    for number, (start, end) in enumerate(word_spans(text)):
        own = offsets[bisect_left(starts, start) : bisect_right(starts, end - 1)]
        found = pieces((start, end), own) if len(own) > longest else [(start, end)]
        spans += found
        words += [number] * len(found)
    return Units(spans, words, [bisect_right(starts, end - 1) for _, end in spans])


def pieces(word: Span, tokens: list[Span]) -> list[Span]:
    """The pieces of a word, each of one token, or of tokens that share characters, as the bytes of a letter do."""
    first, last = word
    begins, reached = [first], first
    for start, end in tokens:
        if start >= reached and start > first:
            begins.append(start)
        reached = max(reached, end)
    return list(zip(begins, [*begins[1:], last], strict=True))
