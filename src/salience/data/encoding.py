"""Texts as token ids, computed once for a whole data set: 500,000 texts of 30 tokens take 120 MB."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from torch.utils.data import Dataset

from salience.data.texts import Texts, TextsLike
from salience.data.words import Span, Spans, encodings_of
from salience.errors import InputError, counted
from salience.work import tracked

SPECIAL = -1  # in `Words.of_tokens`: the token is a part of no word
# Texts, and characters, that are tokenised in one call. What a tokenizer gives has a hundred times their bytes.
CHUNK, CHARACTERS = 1000, 1 << 20


@dataclass(frozen=True, eq=False)
class Words:
    """The words of N encoded texts. The words of a second text are numbered on from those of the first.

    Args:
        of_tokens: int, flat over the tokens of all texts: the number in its text of the word that a token is a part
            of, 0 to W - 1, or `SPECIAL`.
        counts: (N,) int, the number of words W of each text, as far as it is read.
        names: the W words of each text, as they are written.
        second: the number of the first word of each second text; None for single texts.
        joined: the numbers of the words of each text that no white space parts from the word before.
    """

    of_tokens: np.ndarray
    counts: np.ndarray
    names: list[list[str]]
    second: list[int | None]
    joined: Sequence[Collection[int]]

    @classmethod
    def of(cls, texts: Texts, spans: Spans) -> Words:
        """The words of whole texts, which are parts of no tokens here."""
        names, joined, second = list[list[str]](), list[Collection[int]](), list[int | None]()
        for row in zip(*texts.columns, strict=True):
            words = [spans(text) for text in row]
            names.append([text[start:end] for text, own in zip(row, words, strict=True) for start, end in own])
            joined.append(joined_words(words))
            second.append(len(words[0]) if len(words) > 1 else None)
        return cls(np.zeros(0, np.int32), np.array(list(map(len, names)), np.int64), names, second, joined)


def joined_words(of_texts: Sequence[Sequence[Span]]) -> frozenset[int]:
    """The numbers of the words of a text, or of both texts of a pair, that begin where the word before ends."""
    words = [(text, *span) for text, spans in enumerate(of_texts) for span in spans]
    return frozenset(
        number for number, ((before, _, end), (text, start, _)) in enumerate(pairwise(words), 1)
        if (before, end) == (text, start)
    )  # fmt: skip


def put_together(words: Sequence[str], joined: Collection[int], kept: Sequence[bool] | np.ndarray) -> str:
    """The text of some of its words: a space is where white space parted them, also by words that are left out."""
    parts, spaced = list[str](), False
    for number, (word, stays) in enumerate(zip(words, kept, strict=True)):
        spaced = spaced or number not in joined
        if stays:
            parts += [" " * (spaced and bool(parts)), word]
            spaced = False
    return "".join(parts)


def words_of_tokens(
    segment: np.ndarray, offsets: Sequence[Span], texts: Sequence[str], spans: Spans
) -> tuple[np.ndarray, list[str], int | None, frozenset[int]]:
    """The words of one text, or of both texts of a pair, as far as they are read: as the fields of `Words`.

    `segment` (T,) is 1 for tokens of the first text, 2 for those of the second, 0 for special tokens.
    """
    numbers = np.full(len(offsets), SPECIAL, np.int32)
    names: list[str] = []
    firsts: list[int] = []  # the number of the first word of each text
    read_spans: list[list[Span]] = []
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
        read_spans.append(words[:read])
    return numbers, names, firsts[1] if len(firsts) > 1 else None, joined_words(read_spans)


class Encoded(Dataset):
    """N tokenised texts. Each is a dict of `input_ids`, `segment` and, if known, `token_type_ids` (T,) and `labels`.

    Args:
        ids: the token ids of all texts, flat.
        segments: flat as `ids`: 0 for special tokens, 1 for the text, 2 for the second text of a pair.
        lengths: (N,) int, the number of tokens of each text.
        labels: (N,) int; or (N, C), 0 and 1 where texts are multi-label, or probabilities; None if unknown.
        cut: (N,) bool, whether a text is longer than what is read of it. One value stands for all texts.
        words: the words that the tokens are parts of; None if they are not needed. They take several times the memory
            of the ids.
        owners: (N,) int, ascending, where these are passages of texts: the number of the text that each is of. None
            where each is a text of its own.
        types: flat as `ids`, the tokenizer's types of the tokens; None if it gives a model none.
    """

    def __init__(
        self,
        ids: np.ndarray,
        segments: np.ndarray,
        lengths: np.ndarray,
        labels: Sequence[int] | np.ndarray | None = None,
        cut: np.ndarray | Sequence[bool] | bool = False,
        words: Words | None = None,
        owners: np.ndarray | None = None,
        types: np.ndarray | None = None,
    ):
        self.ids, self.segments, self.lengths = ids, segments, lengths
        self.starts = np.concatenate([[0], lengths.cumsum()])  # (N + 1,) where each text begins in `ids`
        self.labels = None if labels is None else np.asarray(labels)
        if self.labels is not None and self.labels.ndim == 1:
            self.labels = self.labels.astype(np.int64, copy=False)
        self.cut = np.broadcast_to(np.asarray(cut, bool), lengths.shape)
        self._words, self.owners, self.types = words, owners, types

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> dict:
        part = slice(self.starts[index], self.starts[index + 1])
        item = {"input_ids": self.ids[part], "segment": self.segments[part]}
        if self.types is not None:
            item["token_type_ids"] = self.types[part]
        return item if self.labels is None else item | {"labels": self.labels[index]}

    def __iter__(self) -> Iterator[dict]:
        return (self[row] for row in range(len(self)))

    @property
    def texts(self) -> int:
        """The number of texts, which is less than that of passages of them."""
        return len(self) if self.owners is None else len(np.unique(self.owners))

    @property
    def text_numbers(self) -> np.ndarray:
        """(M,) the number of the text that each of M passages is of; of texts that are read at once, their own."""
        return np.arange(len(self)) if self.owners is None else self.owners

    @property
    def cut_texts(self) -> np.ndarray:
        """(N,) bool, whether something of a text is not read; of passages, of each of their texts."""
        return self.cut if self.owners is None else np.bincount(self.owners, self.cut) > 0

    @property
    def words(self) -> Words:
        if self._words is None:
            raise ValueError("the texts were encoded without their words")
        return self._words

    def words_of(self, row: int) -> np.ndarray:
        """The number of each token's word (T,) in the text at `row`; `SPECIAL` for a token outside words."""
        return self.words.of_tokens[self.starts[row] : self.starts[row + 1]]

    def take(self, rows: Sequence[int] | np.ndarray) -> Encoded:
        """The texts at `rows`, in that order. A row may be named several times. Passages become texts of their own."""
        rows = np.asarray(rows, int)
        parts = [np.arange(self.starts[row], self.starts[row + 1]) for row in rows]
        flat = np.concatenate([np.zeros(0, int), *parts])
        labels = None if self.labels is None else self.labels[rows]
        words = self._words
        if words is not None:
            names, second = [words.names[row] for row in rows], [words.second[row] for row in rows]
            joined = [words.joined[row] for row in rows]
            words = Words(words.of_tokens[flat], words.counts[rows], names, second, joined)
        types = None if self.types is None else self.types[flat]
        return Encoded(
            self.ids[flat], self.segments[flat], self.lengths[rows], labels, self.cut[rows], words, types=types
        )

    def keeping(self, kept: np.ndarray, empty: int) -> Encoded:
        """The texts with some of their words, in the order of the text, and with all special tokens.

        Args:
            kept: bool, flat over the words of all texts.
            empty: the id of the one token of a text of which nothing else is left, for example [UNK].
        """
        of_tokens, counts = self.words.of_tokens, self.words.counts
        first_words = np.repeat(np.concatenate([[0], counts.cumsum()[:-1]]), self.lengths)
        left, in_words = np.ones(len(of_tokens), bool), of_tokens != SPECIAL
        left[in_words] = kept[(first_words + of_tokens)[in_words]]
        rows = np.repeat(np.arange(len(self)), self.lengths)
        lengths = np.bincount(rows[left], minlength=len(self))
        # Of a text of which nothing is left, the first position stays and holds the token `empty`.
        positions = self.starts[:-1][(lengths == 0) & (self.lengths > 0)]
        ids = self.ids.copy()
        ids[positions], left[positions] = empty, True
        lengths = np.bincount(rows[left], minlength=len(self))
        types = None if self.types is None else self.types[left]
        return Encoded(ids[left], self.segments[left], lengths, self.labels, types=types)


def chunks(columns: Sequence[Sequence[str]], most: int = CHUNK) -> Iterator[slice]:
    """Parts of N texts or pairs that are held at a time: `most` texts and `CHARACTERS` characters, or one text."""
    start = size = 0
    for number, row in enumerate(zip(*columns, strict=True)):
        own = sum(map(len, row))
        if number > start and (number - start == most or size + own > CHARACTERS):
            yield slice(start, number)
            start, size = number, 0
        size += own
    if len(columns[0]):
        yield slice(start, len(columns[0]))


def encode_texts(
    tokenizer,
    texts: TextsLike,
    pairs: TextsLike | None = None,
    labels: Sequence[int] | np.ndarray | None = None,
    max_length: int | None = None,
    spans: Spans | None = None,
) -> Encoded:
    """Tokenises N texts, or N pairs of texts. What is longer than `max_length` tokens is cut off.

    Args:
        tokenizer: a fast Hugging Face tokenizer; only a fast one knows which token belongs to which text.
        texts: N texts or pairs of texts, as of `Texts.of`.
        pairs: the second texts; None for single texts, and for pairs that `texts` has.
        labels: (N,) the numbers of the labels; None if they are not known.
        max_length: the number of tokens that are read of a text, special tokens included; None reads all.
        spans: a function that gives the words of a text, such as `word_spans`; the result then holds the `words`.

    Raises:
        InputError: as `Texts.of`; or `max_length` leaves no place for words beside the special tokens. (A tokenizer
            would not cut.)
        ValueError: `spans` gives words that are not in order, or that overlap.
    """
    given = Texts.of(texts)
    if pairs is not None:
        given = Texts(given.texts, Texts.of(pairs, "pairs").texts)
    special = tokenizer.num_special_tokens_to_add(given.second is not None)
    if max_length is not None and max_length <= special:
        raise InputError(
            f"--max-length {max_length} leaves no place for words: {counted(special, 'token')} of each "
            f"{'text' if given.second is None else 'pair'} {'is' if special == 1 else 'are'} special"
        )
    no_ids, no_segments = np.zeros(0, np.int32), np.zeros(0, np.int8)
    ids, segments, types, lengths, cut, words = [no_ids], [no_segments], [no_segments], [], [], []
    columns = given.columns
    parts = tracked(chunks(columns), len(given), "tokenising", size=lambda part: part.stop - part.start)
    for part in parts:
        chunk = [column[part] for column in columns]
        encodings = encodings_of(tokenizer, chunk, truncation=False)
        long = [max_length is not None and len(encoding) > max_length for encoding in encodings]
        if any(long):  # these are tokenised again, since only the tokenizer knows how to shorten a pair
            indices = np.flatnonzero(long)
            those = [[column[index] for index in indices] for column in chunk]
            again = encodings_of(tokenizer, those, truncation=True, max_length=max_length)
            for index, encoding in zip(indices, again, strict=True):
                encodings[index] = encoding
        cut += long
        for number, (encoding, *both) in enumerate(zip(encodings, *chunk, strict=True), part.start + 1):
            if encoding.n_sequences < 2:
                segment = 1 - np.array(encoding.special_tokens_mask, np.int8)
            else:
                segment = np.array([0 if part is None else part + 1 for part in encoding.sequence_ids], np.int8)
            ids.append(np.array(encoding.ids, np.int32))
            segments.append(segment)
            types.append(np.array(encoding.type_ids, np.int8))
            lengths.append(len(encoding))
            if spans is not None:
                try:
                    words.append(words_of_tokens(segment, encoding.offsets, both, spans))
                except ValueError as error:
                    raise ValueError(f"text {number}: {error}") from error
    found = None
    if spans is not None:
        names = [of_text for _, of_text, _, _ in words]
        counts = np.array([len(of_text) for of_text in names], np.int64)
        of_tokens = np.concatenate([no_ids, *(numbers for numbers, _, _, _ in words)])
        second, joined = [each[2] for each in words], [each[3] for each in words]
        found = Words(of_tokens, counts, names, second, joined)
    return Encoded(
        np.concatenate(ids), np.concatenate(segments), np.array(lengths, np.int64), labels, cut, found,
        types=np.concatenate(types) if "token_type_ids" in tokenizer.model_input_names else None,
    )  # fmt: skip
