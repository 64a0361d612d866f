"""Texts as token ids, once for a whole data set and compactly: 500,000 texts of 30 tokens take 120 MB."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch.utils.data import Dataset

from salience.errors import InputError, counted

CHUNK = 1000  # texts tokenised in one call


def check_room(tokenizer, max_length: int | None, pairs: bool) -> None:
    """Refuses to cut a text to its special tokens, which a tokenizer would answer by not cutting it at all.

    Raises:
        InputError: names the length and what it must be above.
    """
    special = tokenizer.num_special_tokens_to_add(pairs)
    if max_length is not None and max_length <= special:
        raise InputError(
            f"--max-length {max_length} leaves no place for words: {counted(special, 'token')} of each "
            f"{'pair' if pairs else 'text'} {'is' if special == 1 else 'are'} special"
        )


class Encoded(Dataset):
    """Tokenised texts, each a dict of `input_ids`, `segment` and, if known, `labels`."""

    def __init__(self, ids: np.ndarray, segments: np.ndarray, lengths: np.ndarray, labels: Sequence[int] | None, cut):
        self.ids, self.segments, self.lengths = ids, segments, lengths  # flat, flat, (rows,)
        self.starts = np.concatenate([[0], lengths.cumsum()])
        self.labels = labels
        self.cut = cut  # how many texts were longer than the model reads

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> dict:
        part = slice(self.starts[index], self.starts[index + 1])
        item = {"input_ids": self.ids[part], "segment": self.segments[part]}
        return item if self.labels is None else item | {"labels": self.labels[index]}

    def take(self, indices: Sequence[int]) -> Encoded:
        """The rows at `indices`, in that order."""
        parts = [np.arange(self.starts[index], self.starts[index + 1]) for index in indices]
        flat = np.concatenate(parts) if parts else np.zeros(0, int)
        labels = None if self.labels is None else [self.labels[index] for index in indices]
        return Encoded(self.ids[flat], self.segments[flat], self.lengths[list(indices)], labels, self.cut)


def encode_texts(
    tokenizer,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    labels: Sequence[int] | None = None,
    max_length: int | None = None,
) -> Encoded:
    """Tokenises texts, or pairs of texts, and cuts what is longer than `max_length` tokens.

    Args:
        tokenizer: a fast Hugging Face tokenizer; only it knows which token belongs to which text.

    Raises:
        InputError: `max_length` leaves no place for words.
    """
    check_room(tokenizer, max_length, pairs is not None)
    ids, segments, lengths, cut = [], [], [], 0
    for start in range(0, len(texts), CHUNK):
        rows = slice(start, start + CHUNK)
        chunk = (list(texts[rows]),) if pairs is None else (list(texts[rows]), list(pairs[rows]))
        encoded = tokenizer(*chunk, truncation=False, verbose=False).encodings
        if max_length is not None:
            long = [index for index, row in enumerate(encoded) if len(row) > max_length]
            cut += len(long)
            if long:  # only these again: the tokenizer knows how to shorten a pair
                again = tokenizer(*([part[index] for index in long] for part in chunk), truncation=True,
                                  max_length=max_length).encodings  # fmt: skip
                for index, row in zip(long, again, strict=True):
                    encoded[index] = row
        lengths += [len(row) for row in encoded]
        ids += [np.array(row.ids, np.int32) for row in encoded]
        segments += [segment_of(row) for row in encoded]
    empty = [np.zeros(0, np.int32)]
    return Encoded(
        np.concatenate(ids or empty), np.concatenate(segments or empty), np.array(lengths, np.int64), labels, cut
    )


def segment_of(encoding) -> np.ndarray:
    """0 for special tokens, 1 for the text, 2 for the second text of a pair: (T,) int8."""
    if encoding.n_sequences < 2:
        return 1 - np.array(encoding.special_tokens_mask, np.int8)
    return np.array([0 if part is None else part + 1 for part in encoding.sequence_ids], np.int8)
