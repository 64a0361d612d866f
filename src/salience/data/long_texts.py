"""What is read of texts that are longer than a model reads: their head, head and tail, or windows over all of it.

Windows and ends are made of whole words, so that each is a text of its own, which any encoder and explainer reads.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from scipy.special import expit, logit, softmax

from salience.data.texts import Texts
from salience.data.words import Span, word_spans
from salience.errors import InputError

LONG = ("head", "head-tail", "windows")
OVERLAP = 0.25  # share of a window that the next one repeats
SMALLEST = float(np.finfo(np.float32).epsneg) / 2  # half of the distance from 1 to the float32 below it
CHUNK = 1024  # texts that are tokenised at a time


@dataclass(frozen=True, eq=False)
class Passages:
    """The parts of N texts that are read.

    Args:
        texts: the M passages, in the order of the texts, with what is known of their texts.
        owners: (M,) int, the number of the text that each passage is of.
        first_words: (M,) int, the number in its text of the first word of each passage.
        shortened: (N,) bool, whether words of a text are in no passage of it.
    """

    texts: Texts
    owners: np.ndarray
    first_words: np.ndarray
    shortened: np.ndarray


def passages(tokenizer, texts: Texts, max_length: int, long: str) -> Passages:
    """The passages of texts: one for each text that is short enough, and the ends or windows of each other one.

    Args:
        tokenizer: a fast Hugging Face tokenizer.
        texts: N single texts.
        max_length: number of tokens that are read at once, special tokens included.
        long: "head-tail": the first and the last words of the text, as one passage; "windows": passages of whole
            words that cover it, each of which repeats a quarter of the one before.

    Raises:
        InputError: the texts are pairs.
    """
    if texts.second is not None:
        raise InputError(f"--long {long} is for single texts, and these are pairs: use --long head")
    room = max_length - tokenizer.num_special_tokens_to_add(False)
    found, owners, first_words = [], [], []
    shortened = np.zeros(len(texts), bool)
    for start in range(0, len(texts), CHUNK):
        chunk = texts.texts[start : start + CHUNK]
        encodings = tokenizer(chunk, add_special_tokens=False, truncation=False, verbose=False).encodings
        for number, (text, encoding) in enumerate(zip(chunk, encodings, strict=True), start):
            parts = [(0, text)]
            spans = word_spans(text) if len(encoding) > room else []
            if spans:  # a text of white space alone has tokens, but no words
                ends = last_tokens(spans, encoding.offsets)
                if long == "windows":
                    parts = [
                        (first, text[spans[first][0] : spans[last - 1][1]]) for first, last in windows(ends, room)
                    ]
                else:
                    head, tail = ends_of(ends, room)
                    parts = [(0, f"{text[: spans[head - 1][1]]} {text[spans[tail][0] :]}")]
                    shortened[number] = True
            first_words += [first for first, _ in parts]
            found += [part for _, part in parts]
            owners += [number] * len(parts)
    order = np.array(owners, np.int64)
    return Passages(
        replace(texts.take(order), texts=found, marks=None), order, np.array(first_words, np.int64), shortened
    )


def last_tokens(spans: list[Span], offsets: list[Span]) -> list[int]:
    """For each word, how many tokens of the text begin before its end."""
    starts = [start for start, _ in offsets]
    return [bisect_right(starts, end - 1) for _, end in spans]


def windows(ends: list[int], room: int) -> list[tuple[int, int]]:
    """The windows over a text: the numbers of the first word of each, and of the word after its last.

    A window takes as many words as it has room for, at least one. The next one begins so many words earlier as a
    quarter of the room holds, or fewer, so that it has room for a new word. The last window is filled from the end of
    the text.

    Args:
        ends: (W,) the number of tokens up to the end of each word.
        room: number of tokens in a window.
    """
    begins, found, first = [0, *ends[:-1]], [], 0

    def first_up_to(last: int) -> int:
        """The first word of a window that ends with a word, and takes as many before it as it has room for."""
        return min(bisect_left(begins, ends[last] - room), last)

    while (last := max(bisect_right(ends, begins[first] + room), first + 1)) < len(ends):
        found.append((first, last))
        first = max(bisect_left(begins, ends[last - 1] - OVERLAP * room), first_up_to(last))
    return [*found, (first_up_to(len(ends) - 1), len(ends))]


def ends_of(ends: list[int], room: int) -> tuple[int, int]:
    """How many words of a text's beginning are read, and the number of the first word of its end.

    Both have a word at least.

    Args:
        ends, room: as of `windows`.
    """
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
        several: whether a text can have several labels, each with a probability of its own.
    """
    given = probabilities.astype(np.float64)
    if several:
        logits = logit(given.clip(SMALLEST, 1 - SMALLEST))
    else:
        logits = np.log(np.maximum(given, np.finfo(np.float32).tiny))
    counts = np.bincount(owners)
    starts = [0, *accumulate(counts.tolist())][:-1]
    means = np.add.reduceat(logits, starts, axis=0) / counts[:, None] if len(counts) else logits
    found = expit(means) if several else softmax(means, axis=1)
    return found.astype(np.float32)
