"""The words of a text: what white space parts, and in scripts without spaces what the rules of Unicode part."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from threading import Lock
from typing import Any
from unicodedata import category

import regex

from salience.errors import InputError, quoted

_turn = Lock()  # of threads that tokenise
Span = tuple[int, int]  # the first character of a word, and the character after its last
Spans = Callable[[str], list[Span]]  # the words of a text, in order and without overlaps
Segmenter = Callable[[str], Iterable[str]]  # the words of a text as texts, such as `jieba.lcut`

# Letters of Chinese and Japanese, and of Thai, Lao, Khmer, Myanmar and their like: no space stands between words.
UNSPACED = regex.compile(r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Line_Break=Complex_Context}]")
BOUNDARY = regex.compile(r"\b", regex.WORD)  # of words by the rules of Unicode
CHARACTER = regex.compile(r"\X")  # a grapheme cluster


def plain_word(word: str) -> str:
    """A word in lower case without punctuation and symbols around it; empty if it consists of nothing else."""
    letters = [index for index, letter in enumerate(word) if category(letter)[0] not in "PSZC"]
    return word[letters[0] : letters[-1] + 1].lower() if letters else ""


def spaced_spans(text: str) -> list[Span]:
    """What white space parts."""
    return [match.span() for match in re.finditer(r"\S+", text)]


def word_spans(text: str, tokenizer=None) -> list[Span]:
    """The words of a text: what white space parts, and in scripts without spaces what the rules of Unicode part.

    What white space parts and has a letter of such a script is divided at the boundaries of words of UAX #29: each
    Chinese sign, each Hiragana and each sign of punctuation is a word, and each run of Katakana, of Latin letters or
    of digits. In Thai and its like, the rules need a dictionary, and without one they part all letters. With a
    `tokenizer`, nothing is divided inside of one of its tokens, so that each word has tokens of its own. Characters
    stay whole (grapheme clusters, such as a letter with its marks, or an emoji made of several).
    """
    spans = spaced_spans(text)
    if text.isascii() or not UNSPACED.search(text):
        return spans
    inside = set[int]()  # of a token
    if tokenizer is not None:
        (encoding,) = encodings_of(tokenizer, [[text]], add_special_tokens=False, truncation=False)
        inside.update(place for start, end in encoding.offsets for place in range(start + 1, end))
    found = list[Span]()
    for first, last in spans:
        if not UNSPACED.search(text, first, last):
            found.append((first, last))
            continue
        part = text[first:last]
        begins = {match.start() for match in CHARACTER.finditer(part)}
        between = {first + match.start() for match in BOUNDARY.finditer(part) if match.start() in begins} - inside
        found += pairwise(sorted(between | {first, last}))
    return found


def segmented_spans(text: str, segmenter: Segmenter) -> list[Span]:
    """The words of a text that a segmenter gives.

    Raises:
        InputError: they are not all of the text but its white space, in order.
    """
    words = [own for word in segmenter(text) if (own := word.strip())]
    spans, reached = list[Span](), 0
    for word in words:
        start = text.find(word, reached)
        if start < 0 or text[reached:start].strip():
            break
        reached = start + len(word)
        spans.append((start, reached))
    if len(spans) < len(words) or text[reached:].strip():
        raise InputError(
            f"the segmenter makes {quoted(' | '.join(words))} of {quoted(text)}: its words must be the whole text, in "
            "the order of the text"
        )
    return spans


def encodings_of(tokenizer, columns: Sequence[Sequence[str]], **settings) -> list[Any]:
    """What a fast tokenizer makes of texts, or of pairs.

    A call sets how the tokenizer cuts texts, in all threads. So they take turns; each call uses all cores by itself.
    """
    with _turn:
        return tokenizer(*columns, verbose=False, **settings).encodings
