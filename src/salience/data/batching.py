"""Rows to batches: padding to the longest text of a batch, and texts of like length in one batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Sampler

from salience.batch import Batch
from salience.data.encoding import Encoded

# Padded tokens in a batch: enough to keep the device busy, few enough to stay in a CPU's cache.
TOKENS = {"cpu": 2048, "cuda": 65536}
DIFFERENTIATED = {"cpu": 2048, "cuda": 8192}  # where activations stay for a backward pass: BERT-base's take 5 GB


@dataclass(frozen=True)
class Collator:
    """Pads rows on the right into the fields of a `Batch`, as a dict: the form in which loaders move tensors.

    Rows are dicts with `input_ids` and, if known, `labels` (or `label`). `segment` is worked out from the special
    tokens where a row does not bring it, so that data sets tokenised elsewhere can be used.
    """

    padding: int = 0
    special: frozenset[int] = frozenset()

    @classmethod
    def of(cls, tokenizer) -> Collator:
        # [UNK] is a special token too, but it stands for a word of the text.
        special = frozenset(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        return cls(tokenizer.pad_token_id or 0, special)

    def __call__(self, rows: Sequence[dict]) -> dict[str, Tensor]:
        ids = [torch.as_tensor(np.asarray(row["input_ids"]), dtype=torch.long) for row in rows]
        if "attention_mask" in rows[0]:  # tokenised and padded elsewhere
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
        if not batch["input_ids"].shape[1]:  # no text has a token, and no model takes a batch without any place
            batch = {field: torch.zeros(len(rows), 1, dtype=torch.long) for field in batch}
            batch["input_ids"] += self.padding
        name = next((name for name in ("labels", "label") if name in rows[0]), None)
        return batch if name is None else batch | {"labels": torch.tensor([int(row[name]) for row in rows])}

    def segment(self, ids: Tensor) -> Tensor:
        """0 special, 1 up to the first separator behind a word, 2 from there on."""
        special = torch.tensor([int(token) in self.special for token in ids])
        word_before = (~special).cumsum(0) > 0
        second = (special & word_before).cumsum(0) > 0
        return torch.where(special, 0, 1 + second.long())


class LengthGrouped(Sampler[int]):
    """A shuffled order in which texts of like length stand together, so that little of a batch is padding.

    Every batch is full: what does not fill one is left out, other rows in every epoch. So a step sees the same rows
    whether its batch is computed at once, in pieces, or by several processes. The batches themselves are shuffled;
    in the usual length-grouped order long ones come first, and lengths drift over an epoch.
    """

    POOL = 50  # batches that are sorted together, at most

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int):
        self.lengths = np.asarray(lengths)
        self.batch_size = min(batch_size, len(self.lengths))
        self.batches = len(self.lengths) // self.batch_size
        # Of a small data set only an eighth is sorted together: else every epoch would form the same batches.
        self.pool = self.batch_size * min(self.POOL, max(1, self.batches // 8))
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """A resumed run draws the order of its epoch again."""
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


def length_batches(lengths: np.ndarray, tokens: int) -> Iterator[np.ndarray]:
    """Rows in order of length, cut into batches of at most `tokens` padded tokens (at least one row each)."""
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and lengths[order[stop]] * (stop + 1 - start) <= tokens:
            stop += 1
        yield order[start:stop]
        start = stop


def like_length(
    model: nn.Module, texts: Encoded, labelled: bool = False, tokens: Mapping[str, int] = TOKENS
) -> Iterator[tuple[np.ndarray, Batch]]:
    """Batches of texts of like length on the model's device, each with the numbers of its rows.

    Args:
        tokens: padded ones in a batch, at most, by kind of device.
    """
    collate = Collator(padding=model.config.pad_token_id or 0)
    for rows in length_batches(texts.lengths, tokens.get(model.device.type, tokens["cpu"])):
        fields = collate([texts[row] for row in rows])
        if not labelled:
            fields.pop("labels", None)
        yield rows, Batch(**fields).to(model.device)


def in_order(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """What was found batch by batch, each with the numbers of its rows, in the order of the rows."""
    rows, values = zip(*parts, strict=True)
    return np.concatenate(values)[np.argsort(np.concatenate(rows))]
