"""What is read of texts that are longer than a model reads: their head, head and tail, or windows over all of it.

Windows and ends are made of whole words, so that each is a text of its own, which any encoder and explainer reads. A
word that is longer than a window is divided between tokens. The parts of a text that are not divided, words and pieces
of words, are called its units.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, softmax

from salience.data.encoding import chunks
from salience.data.texts import Texts
from salience.data.words import Span, Spans, encodings_of, word_spans

LONG = ("head", "head-tail", "windows")
OVERLAP = 0.25  # share of a window that the next one repeats
SMALLEST = float(np.finfo(np.float32).epsneg) / 2  # half of the distance from 1 to the float32 below it


@dataclass(frozen=True, eq=False)
class Passages:
    """The parts of N texts, or of N pairs of texts, that are read.

    Args:
        texts: the M passages, in the order of the texts, with what is known of their texts.
        owners: (M,) int, the number of the text that each passage is of.
        first_words: (M,) int, the number in its text of the first word of each passage; of pairs, in the first text.
        second_words: (M,) int, the same in the second text of each pair; None for single texts.
        begins: (M, 1) int, the number in its text of the first character of each passage; of pairs (M, 2), of both.
        shortened: (N,) bool, whether words of a text are in no passage of it.
    """

    texts: Texts
    owners: np.ndarray
    first_words: np.ndarray
    second_words: np.ndarray | None
    begins: np.ndarray
    shortened: np.ndarray


class Part(NamedTuple):
    text: str
    first: int = 0  # the number in the text of its first word
    begin: int = 0  # the number in the text of its first character


class Tokenised(NamedTuple):
    text: str
    offsets: list[Span]  # the characters of each token


class Units(NamedTuple):
    spans: list[Span]  # the characters of each unit, in order
    words: list[int]  # the number in the text of the word that each unit is, or is a piece of
    ends: list[int]  # how many tokens of the text begin before the end of each unit


def passages(tokenizer, texts: Texts, max_length: int, long: str, spans: Spans | None = None) -> Passages:
    """The passages of texts: one for each text that is short enough, and the ends or windows of each other one.

    Of a pair, the text with more tokens is divided, and each passage has the other one whole. If the other one has
    more tokens than half of the room, each passage has the words of its head that half of the room holds.

    Args:
        max_length: number of tokens that are read at once, special tokens included.
        long: "head-tail": the first and the last words of the text, as one passage; "windows": passages of whole
            words that cover it, each of which repeats a quarter of the one before.
        spans: a function that gives the words of a text; None is `word_spans` with the tokenizer.
    """
    columns, spans = texts.columns, spans or partial(word_spans, tokenizer=tokenizer)
    room = max_length - tokenizer.num_special_tokens_to_add(len(columns) == 2)
    found, owners = list[tuple[Part, ...]](), list[int]()
    shortened = np.zeros(len(texts), bool)
    for some in chunks(columns):
        chunk = [tokenised(tokenizer, column[some]) for column in columns]
        for number, (own, *other) in enumerate(zip(*chunk, strict=True), some.start):
            if other:
                parts, shortened[number] = divided_pair(tokenizer, own, other[0], room, long, spans)
            else:
                alone, shortened[number] = divided(tokenizer, own, room, long, spans)
                parts = [(part,) for part in alone]
            found += parts
            owners += [number] * len(parts)
    order = np.array(owners, np.int64)
    of_columns = [[parts[place] for parts in found] for place in range(len(columns))]
    words = [np.array([part.first for part in parts], np.int64) for parts in of_columns]
    read = [[part.text for part in parts] for parts in of_columns]
    pairs = texts.second is not None
    taken = replace(texts.take(order), texts=read[0], second=read[1] if pairs else None, marks=None)
    begins = np.array([[part.begin for part in parts] for parts in found], np.int64).reshape(len(found), len(columns))
    return Passages(taken, order, words[0], words[1] if pairs else None, begins, shortened)


def tokenised(tokenizer, texts: list[str]) -> list[Tokenised]:
    encodings = encodings_of(tokenizer, [texts], add_special_tokens=False, truncation=False)
    return [Tokenised(text, encoding.offsets) for text, encoding in zip(texts, encodings, strict=True)]


def tokens_of(tokenizer, texts: list[str]) -> list[int]:
    """How many tokens each of texts has."""
    return list(map(len, encodings_of(tokenizer, [texts], add_special_tokens=False, truncation=False)))


def units_of(whole: Tokenised, own_words: list[Span], longest: int) -> Units:
    """The words of a text as its units. One of more than `longest` tokens is divided wherever a token begins.

    A piece has one token, or tokens that share characters, as the bytes of a letter do.
    """
    offsets = whole.offsets
    starts = [start for start, _ in offsets]
    spans, words = list[Span](), list[int]()
    for number, (first, last) in enumerate(own_words):
        own = offsets[bisect_left(starts, first) : bisect_right(starts, last - 1)]
        begins, reached = [first], first
        for start, end in own if len(own) > longest else ():
            if start >= reached and start > first:
                begins.append(start)
            reached = max(reached, end)
        spans += zip(begins, [*begins[1:], last], strict=True)
        words += [number] * len(begins)
    return Units(spans, words, [bisect_right(starts, end - 1) for _, end in spans])


def divided(tokenizer, whole: Tokenised, room: int, long: str, spans: Spans) -> tuple[list[Part], bool]:
    """The passages of a text of `room` tokens each, and whether some of its words are in none.

    Alone, a passage can have more tokens than as a part of its text, such as at its first word. Passages are then made
    shorter, until none has more tokens than there is room for.
    """
    own_words = spans(whole.text) if len(whole.offsets) > room else []
    if not own_words:  # a text of white space alone has tokens, but no words
        return [Part(whole.text)], False
    aim = room
    while True:
        units = units_of(whole, own_words, aim)
        parts = parted(whole.text, units, aim, long)
        excess = max(tokens_of(tokenizer, [part.text for part in parts])) - room
        if excess <= 0 or aim == 1:
            return parts, long != "windows" and len(units.spans) > 1
        aim = max(aim - excess, aim // 2)


def parted(text: str, units: Units, room: int, long: str) -> list[Part]:
    """The passages of a text of more than `room` tokens, made of its units.

    A passage keeps the space before its first word, which is in the token of the word in tokenizers such as RoBERTa's.
    """
    spans, words, ends = units
    begins = [start - (start > 0 and text[start - 1].isspace()) for start, _ in spans]
    if long == "windows":
        between = windows(ends, room)
        return [Part(text[begins[first] : spans[last - 1][1]], words[first], begins[first]) for first, last in between]
    if len(spans) == 1:  # with white space around it, whose tokens are not read
        return [Part(text[slice(*spans[0])])]
    head, tail = ends_of(ends, room)
    return [Part(f"{text[begins[0] : spans[head - 1][1]]} {text[spans[tail][0] : spans[-1][1]]}")]


def divided_pair(
    tokenizer, first: Tokenised, second: Tokenised, room: int, long: str, spans: Spans
) -> tuple[list[tuple[Part, ...]], bool]:
    """The passages of a pair of texts, each of two parts, and whether some of its words are in none."""
    if len(first.offsets) + len(second.offsets) <= room:
        return [(Part(first.text), Part(second.text))], False
    swapped = len(second.offsets) > len(first.offsets)
    longer, other = (second, first) if swapped else (first, second)
    kept, taken, cut = Part(other.text), len(other.offsets), False
    if taken > room // 2 and (own_words := spans(other.text)):  # as many of its head as half of the room holds
        units = units_of(other, own_words, room)
        count = max(bisect_right(units.ends, room // 2), 1)  # at least one
        kept, cut = Part(other.text[: units.spans[count - 1][1]]), count < len(units.spans)
        taken = min(*tokens_of(tokenizer, [kept.text]), room - 1)
    parts, shortened = divided(tokenizer, longer, room - taken, long, spans)
    return [(kept, part) if swapped else (part, kept) for part in parts], cut or shortened


def windows(ends: list[int], room: int) -> list[tuple[int, int]]:
    """The windows over a text: the numbers of the first unit of each, and of the unit after its last.

    A window takes as many units as it has room for, at least one. The next one begins so many units earlier as a
    quarter of the room holds, or fewer, so that it has room for a new unit. The last window is filled from the end of
    the text. `ends` (U,) is the number of tokens up to the end of each unit.
    """
    begins, found, first = [0, *ends[:-1]], [], 0

    def first_up_to(last: int) -> int:
        """The first unit of a window that ends with a unit, and takes as many before it as it has room for."""
        return min(bisect_left(begins, ends[last] - room), last)

    while (last := max(bisect_right(ends, begins[first] + room), first + 1)) < len(ends):
        found.append((first, last))
        first = max(bisect_left(begins, ends[last - 1] - OVERLAP * room), first_up_to(last))
    return [*found, (first_up_to(len(ends) - 1), len(ends))]


def ends_of(ends: list[int], room: int) -> tuple[int, int]:
    """How many units of a text's beginning are read, and the number of the first unit of its end; each has one."""
    head = max(bisect_right(ends, room // 2), 1)
    used = ends[head - 1]
    tail = bisect_left([0, *ends[:-1]], ends[-1] - max(room - used, 1))
    return head, min(max(tail, head), len(ends) - 1)


def merged(probabilities: np.ndarray, owners: np.ndarray, several: bool = False) -> np.ndarray:
    """The probabilities (N, C) of texts from those of their passages (M, C): those of the mean of the logits.

    With one label a text, the logits of a passage are ln p up to a constant, which does not change their softmax. With
    several, the logit of a label is ln p - ln (1 - p), of a p that is at least `SMALLEST` away from 0 and 1: float32
    knows no p closer to 1, so a passage that is surer does not outweigh those that are as sure of the opposite.

    Args:
        owners: (M,) int, the number of the text of each passage, ascending from 0 to N - 1.
    """
    given = probabilities.astype(np.float64)
    if several:
        logits = logit(given.clip(SMALLEST, 1 - SMALLEST))
    else:
        logits = np.log(np.maximum(given, np.finfo(np.float32).tiny))
    counts = np.bincount(owners)
    if len(counts):
        logits = np.add.reduceat(logits, counts.cumsum() - counts, axis=0) / counts[:, None]
    return (expit(logits) if several else softmax(logits, axis=1)).astype(np.float32)
