"""Texts as tokens that know which word they belong to, so that words can be scored, taken out, or kept alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from salience.data.encoding import Encoded, check_room, segment_of
from salience.explainers.words import Span, word_spans

SPECIAL = -1  # the word of a token that is none's
PIECES = {"sum": (np.add, 0.0), "max": (np.maximum, -np.inf)}  # how tokens' scores become a word's, from what


@dataclass(frozen=True)
class WordTokens:
    """Encoded texts, and for every token the number of its word; a second text's words are counted on."""

    encoded: Encoded
    words: np.ndarray  # flat, as the encoded ids: SPECIAL, or 0 .. W-1 of its text
    counts: np.ndarray  # (N,) words of each text that the model reads
    names: list[list[str]]  # of each text's words, as they are written
    second: list[int | None]  # the number of the first word of a second text
    cut: np.ndarray  # (N,) whether the text is longer than what is read
    pieces: str = "sum"  # a key of `PIECES`

    def __len__(self) -> int:
        return len(self.counts)

    def scores_of_words(self, row: int, scores: np.ndarray) -> np.ndarray:
        """The scores of a text's words (W,) from its tokens' (T,); 0 for a word that has no token."""
        own = self.words_of(row)
        inside = own != SPECIAL
        take_together, nothing = PIECES[self.pieces]
        found = np.full(self.counts[row], nothing)
        take_together.at(found, own[inside], scores[: len(own)][inside])
        return np.where(found == -np.inf, 0, found)

    def starts_of_texts(self, row: int) -> list[int]:
        """The number of the first word of a second text, if there is one."""
        return [] if self.second[row] is None else [self.second[row]]

    def words_of(self, row: int) -> np.ndarray:
        """The number of each token's word (T,), `SPECIAL` where it has none."""
        return self.words[self.encoded.starts[row] : self.encoded.starts[row + 1]]

    def take(self, rows: Sequence[int]) -> WordTokens:
        """The texts at `rows`, in that order; a row may stand there several times."""
        flat = [self.words_of(row) for row in rows]
        return WordTokens(
            self.encoded.take(rows), np.concatenate([np.zeros(0, np.int32), *flat]), self.counts[list(rows)],
            [self.names[row] for row in rows], [self.second[row] for row in rows], self.cut[list(rows)], self.pieces,
        )  # fmt: skip

    def keeping(self, kept: np.ndarray, empty: int) -> Encoded:
        """The texts with some of their words, in their order, and all special tokens.

        Args:
            kept: bool, flat over the words of all texts.
            empty: the id of the one token that a text is left with which would have none, as [UNK].
        """
        first = np.repeat(np.concatenate([[0], self.counts.cumsum()[:-1]]), self.encoded.lengths)
        left, inside = np.ones(len(self.words), bool), self.words != SPECIAL
        left[inside] = kept[(first + self.words)[inside]]
        rows = np.repeat(np.arange(len(self)), self.encoded.lengths)
        lengths = np.bincount(rows[left], minlength=len(self))
        nothing = lengths == 0
        # Where nothing would be left, the text's first place stays, and holds the placeholder.
        places = self.encoded.starts[:-1][nothing & (self.encoded.lengths > 0)]
        ids = self.encoded.ids.copy()
        ids[places], left[places] = empty, True
        return Encoded(
            ids[left], self.encoded.segments[left], np.bincount(rows[left], minlength=len(self)),
            self.encoded.labels, 0,
        )  # fmt: skip


def encode_words(
    tokenizer,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    labels: Sequence[int] | None = None,
    max_length: int | None = None,
    spans: Callable[[str], list[Span]] = word_spans,
    pieces: str = "sum",
) -> WordTokens:
    """Tokenises texts, or pairs, and finds each token's word by the tokenizer's own offsets.

    Args:
        spans: where the words of a text stand, in the order of the text and without overlaps; what white space
            parts, unless said otherwise.
        pieces: what a word's score is of its tokens', "sum" or "max".

    Raises:
        InputError: `max_length` leaves no place for words.
        ValueError: `spans` gives words in another order, or words that overlap.
    """
    check_room(tokenizer, max_length, pairs is not None)
    ids, segments, words, counts, names, second, cut = [], [], [], [], [], [], []
    for row, text in enumerate(texts):
        both = [text] if pairs is None else [text, pairs[row]]
        (found,) = tokenizer(
            *([part] for part in both), truncation=max_length is not None, max_length=max_length, verbose=False
        ).encodings
        segment = segment_of(found)
        own = np.full(len(found), SPECIAL, np.int32)
        written: list[str] = []
        first: list[int] = []  # of each text's words, counted on
        for part, whole in enumerate(both, 1):
            first.append(len(written))
            places_of_words = spans(whole)
            if any(start < end for (_, end), (start, _) in pairwise(places_of_words)):
                raise ValueError(f"text {row + 1}: the spans of words must be in order and must not overlap")
            ends = np.array([end for _, end in places_of_words])
            read = 0
            for place in np.flatnonzero(segment == part):
                start, end = found.offsets[place]
                number = int(np.searchsorted(ends, start, side="right"))
                if start < end and number < len(ends) and places_of_words[number][0] < end:
                    own[place] = first[-1] + number
                    read = number + 1  # what is cut off is at the end of a text
            written += [whole[start:end] for start, end in places_of_words[:read]]
        ids.append(np.array(found.ids, np.int32))
        segments.append(segment)
        words.append(own)
        counts.append(len(written))
        names.append(written)
        second.append(None if pairs is None else first[1])
        cut.append(bool(found.overflowing))
    lengths = np.array([len(part) for part in ids], np.int64)
    encoded = Encoded(np.concatenate(ids), np.concatenate(segments), lengths, labels, sum(cut))
    return WordTokens(
        encoded, np.concatenate(words), np.array(counts, np.int64), names, second, np.array(cut, bool), pieces
    )
