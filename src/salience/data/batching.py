"""Batches of encoded texts: padding to the longest text of a batch, and texts of similar length in one batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Sampler
from transformers import PreTrainedModel

from salience.batch import Batch
from salience.data.encoding import Encoded

# Padded tokens in a batch: enough to keep the device busy, few enough to stay in a CPU's cache.
TOKENS = {"cpu": 2048, "cuda": 65536}
# As TOKENS, where activations are kept for a backward pass; those of BERT-base take 5 GB.
DIFFERENTIATED = {"cpu": 2048, "cuda": 8192}
# Padding in a batch, in tokens: more of it costs more than a further batch. On one core of a CPU, a batch of MiniLM
# takes 8 ms beside 0.18 ms for each token, and twice that with a backward pass. The GPU's number is a guess.
PADDING = {"cpu": 64, "cuda": 8192}


@dataclass(frozen=True)
class Collator:
    """Pads rows on the right and stacks them as the fields of a `Batch`, in a dict, as data loaders expect.

    Rows are dicts with `input_ids` (T,) and, if known, `pair` and `labels` (or `label`). If rows have no `segment`, it
    is computed from the special tokens; so data sets that were tokenised by other libraries can be used.

    Args:
        padding: the id of the padding token.
        special: the ids of the special tokens.
    """

    padding: int = 0
    special: frozenset[int] = frozenset()

    @classmethod
    def of(cls, tokenizer) -> Collator:
        # [UNK] is a special token too, but it stands for a word of the text.
        special = frozenset(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        return cls(tokenizer.pad_token_id or 0, special)

    def __call__(self, rows: Sequence[dict]) -> dict[str, Tensor]:
        """The fields of a `Batch` from B rows, padded on the right to the longest one (B, T)."""
        ids = [torch.as_tensor(np.asarray(row["input_ids"]), dtype=torch.long) for row in rows]
        if "attention_mask" in rows[0]:  # tokenised and padded by another library
            ids = [row[torch.as_tensor(full["attention_mask"]).bool()] for row, full in zip(ids, rows, strict=True)]
        if "segment" in rows[0]:
            segments = [torch.as_tensor(np.asarray(row["segment"]), dtype=torch.long) for row in rows]
        else:
            segments = [self.segment(row) for row in ids]
        batch = {
            "input_ids": pad_sequence(ids, batch_first=True, padding_value=self.padding),
            "attention_mask": pad_sequence([torch.ones_like(row) for row in ids], batch_first=True),
            "segment": pad_sequence(segments, batch_first=True),
        }
        if not batch["input_ids"].shape[1]:  # no text has a token, and no model accepts a batch without a position
            batch = {field: torch.zeros(len(rows), 1, dtype=torch.long) for field in batch}
            batch["input_ids"] += self.padding
        if "pair" in rows[0]:
            batch["pair"] = torch.tensor([bool(row["pair"]) for row in rows])
        for name in ("labels", "label"):
            if name in rows[0]:  # class numbers (B,); or 0 and 1 or probabilities (B, C)
                labels = torch.tensor(np.array([row[name] for row in rows]))
                return batch | {"labels": labels if labels.dim() > 1 else labels.long()}
        return batch

    def segment(self, ids: Tensor) -> Tensor:
        """The segment of each token (T,): 0 special, 1 up to the first separator after a word, 2 after it."""
        special = torch.tensor([int(token) in self.special for token in ids])
        word_before = (~special).cumsum(0) > 0
        second = (special & word_before).cumsum(0) > 0
        return torch.where(special, 0, 1 + second.long())


class LengthGrouped(Sampler[int]):
    """A shuffled order in which texts of similar length are in the same batch, so that there is little padding.

    Every batch is full: rows that would not fill a batch are left out, different rows in every epoch. So a step uses
    the same rows whether its batch is computed at once, in pieces, or by several processes. The order of the batches
    is shuffled; in the usual length-grouped order the longest come first, and lengths decrease over an epoch.
    """

    POOL = 50  # batches that are sorted together, at most

    def __init__(self, lengths: Sequence[int] | np.ndarray, batch_size: int, seed: int):
        self.lengths = np.asarray(lengths)
        self.batch_size = min(batch_size, len(self.lengths))
        self.batches = len(self.lengths) // self.batch_size
        # Of a small data set only an eighth is sorted together; otherwise every epoch would have the same batches.
        self.pool = self.batch_size * min(self.POOL, max(1, self.batches // 8))
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch whose order is drawn next. A resumed run calls it to draw the order of its epoch again."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self.batches * self.batch_size

    def __iter__(self) -> Iterator[int]:
        random = np.random.default_rng([self.seed, self.epoch])
        order = random.permutation(len(self.lengths))[: len(self)]
        pools = [order[start : start + self.pool] for start in range(0, len(order), self.pool)]
        order = np.concatenate([pool[np.argsort(self.lengths[pool], kind="stable")] for pool in pools])
        batches = order.reshape(self.batches, self.batch_size)
        return iter(batches[random.permutation(self.batches)].ravel().tolist())


def length_batches(lengths: np.ndarray, tokens: int, padding: float = np.inf) -> Iterator[np.ndarray]:
    """Yields the indices of the rows of each batch, in order of length.

    A batch has at most `tokens` tokens, at most `padding` of them padding, but at least one row.
    """
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop, real = start + 1, lengths[order[start]]
        while stop < len(order):
            longest = lengths[order[stop]]
            real += longest
            padded = longest * (stop + 1 - start)
            if padded > tokens or padded - real > padding:
                break
            stop += 1
        yield order[start:stop]
        start = stop


def like_length(
    model: PreTrainedModel, texts: Encoded, labelled: bool = False, tokens: Mapping[str, int] = TOKENS
) -> Iterator[tuple[np.ndarray, Batch]]:
    """Yields batches of texts of similar length on the model's device, each with the indices of its rows.

    `tokens` is the largest number in a batch, padding included, by type of device.
    """
    size, padding = (limits.get(model.device.type, limits["cpu"]) for limits in (tokens, PADDING))
    for rows in length_batches(texts.lengths, size, padding):
        yield rows, padded(texts, rows, model.config.pad_token_id or 0, labelled).to(model.device)


def padded(texts: Encoded, rows: np.ndarray, padding: int = 0, labelled: bool = False) -> Batch:
    """The batch that a `Collator` makes of the texts at `rows`, copied at once instead of text by text."""
    lengths = texts.lengths[rows, None]
    positions = np.arange(max(lengths.max(), 1))  # no model accepts a batch without a position
    inside = positions < lengths
    flat = (texts.starts[rows, None] + positions)[inside]
    ids, segments = np.full(inside.shape, padding, np.int64), np.zeros(inside.shape, np.int64)
    ids[inside], segments[inside] = texts.ids[flat], texts.segments[flat]
    labels = None
    if labelled and texts.labels is not None:
        labels = torch.from_numpy(np.asarray(texts.labels, np.int64)[rows])
    mask, pair = torch.from_numpy(inside.astype(np.int64)), torch.full((len(rows),), texts.paired)
    return Batch(torch.from_numpy(ids), mask, torch.from_numpy(segments), labels, pair)


def in_order(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The values of all batches, each with the indices of its rows, in the order of the rows."""
    rows, values = zip(*parts, strict=True)
    return np.concatenate(values)[np.argsort(np.concatenate(rows))]
