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
from salience.work import tracked

# Padded tokens in a batch: enough to keep the device busy, few enough to stay in a CPU's cache.
TOKENS = {"cpu": 2048, "cuda": 65536}
# As TOKENS, where activations are kept for a backward pass; those of BERT-base take 5 GB.
DIFFERENTIATED = {"cpu": 2048, "cuda": 8192}
# Padding in a batch, in tokens: more of it costs more than a further batch. On one core of a CPU, a batch of MiniLM
# takes 8 ms beside 0.18 ms for each token, and twice that with a backward pass. The GPU's number is a guess.
PADDING = {"cpu": 64, "cuda": 8192}


@dataclass(frozen=True)
class Template:
    """The ids of the tokens that a tokenizer puts around a text and between the two of a pair.

    `second` is the type of a second text's tokens, where it is not that of a first text's; else it is None.
    """

    before: tuple[int, ...] = ()
    between: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    second: int | None = None

    @classmethod
    def of(cls, tokenizer) -> Template:
        pair = tokenizer("a", "b").encodings[0]
        texts, ids, types = pair.sequence_ids, tuple(pair.ids), pair.type_ids
        if 0 not in texts or 1 not in texts:
            return cls()
        begin, end = texts.index(0), len(texts) - texts[::-1].index(1)
        begin_second, end_first = texts.index(1), len(texts) - texts[::-1].index(0)
        told = types[begin_second] if types[begin_second] != types[begin] else None
        return cls(ids[:begin], ids[end_first:begin_second], ids[end:], told)

    def segment(self, ids: Sequence[int], types: Sequence[int] | None = None) -> list[int]:
        """The segment of each token (T,), by the token types if they tell the texts apart, else by the separator.

        Any other special token, such as [MASK] and a separator that is written in a text, is a part of the text.
        """
        ids, separator = tuple(ids), len(self.between)
        start = len(self.before) if ids[: len(self.before)] == self.before else 0
        stop = len(ids) - len(self.after) if ids[max(start, len(ids) - len(self.after)) :] == self.after else len(ids)
        second = None  # where the second text begins
        if types is not None and self.second is not None:
            second = next((place for place in range(start, len(ids)) if types[place] == self.second), None)
        elif separator:
            found = (place for place in range(start, stop) if ids[place : place + separator] == self.between)
            second = next((place + separator for place in found), None)
        if second is None:
            texts = [1] * (stop - start)
        else:
            second = min(second, stop)
            texts = [1] * (second - separator - start) + [0] * separator + [2] * (stop - second)
        return [0] * start + texts + [0] * (len(ids) - stop)


@dataclass(frozen=True)
class Collator:
    """Pads rows on the right and stacks them as the fields of a `Batch`, in a dict, as data loaders expect.

    Rows are dicts with `input_ids` (T,) and, if known, `token_type_ids` (T,) and `labels` (or `label`). If rows have
    no `segment`, the tokenizer's template gives it; so data sets that were tokenised by other libraries can be used.

    Args:
        padding: the id of the padding token.
        template: the special tokens around and between texts.
    """

    padding: int = 0
    template: Template = Template()

    @classmethod
    def of(cls, tokenizer) -> Collator:
        return cls(tokenizer.pad_token_id or 0, Template.of(tokenizer))

    def __call__(self, rows: Sequence[dict]) -> dict[str, Tensor]:
        """The fields of a `Batch` from B rows, padded on the right to the longest one (B, T)."""

        def tokens(name: str) -> list[Tensor]:
            values = [torch.as_tensor(np.asarray(row[name]), dtype=torch.long) for row in rows]
            if "attention_mask" not in rows[0]:
                return values
            masks = [torch.as_tensor(row["attention_mask"]).bool() for row in rows]  # padded by another library
            return [own[mask] for own, mask in zip(values, masks, strict=True)]

        ids, types = tokens("input_ids"), tokens("token_type_ids") if "token_type_ids" in rows[0] else None
        if "segment" in rows[0]:
            segments = tokens("segment")
        else:
            of_rows = [None] * len(ids) if types is None else [row.tolist() for row in types]
            parts = map(self.template.segment, (row.tolist() for row in ids), of_rows)
            segments = [torch.tensor(part, dtype=torch.long) for part in parts]
        batch = {
            "input_ids": pad_sequence(ids, batch_first=True, padding_value=self.padding),
            "attention_mask": pad_sequence([torch.ones_like(row) for row in ids], batch_first=True),
            "segment": pad_sequence(segments, batch_first=True),
        }
        if types is not None:
            batch["token_type_ids"] = pad_sequence(types, batch_first=True)
        if not batch["input_ids"].shape[1]:  # no text has a token, and no model accepts a batch without a position
            batch = {field: torch.zeros(len(rows), 1, dtype=torch.long) for field in batch}
            batch["input_ids"] += self.padding
        for name in ("labels", "label"):
            if name in rows[0]:  # class numbers (B,); or 0 and 1 or probabilities (B, C)
                labels = torch.tensor(np.array([row[name] for row in rows]))
                return batch | {"labels": labels if labels.dim() > 1 else labels.long()}
        return batch


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
    model: PreTrainedModel, texts: Encoded, labelled: bool = False, tokens: Mapping[str, int] = TOKENS,
    name: str = "predicting",
) -> Iterator[tuple[np.ndarray, Batch]]:  # fmt: skip
    """Yields batches of texts of similar length on the model's device, each with the indices of its rows.

    `tokens` is the largest number in a batch, padding included, by type of device. There is no padding for a model
    that reads it. The work is counted by its `name`, a text by its length: the long ones come last.
    """
    size, padding = (limits.get(model.device.type, limits["cpu"]) for limits in (tokens, PADDING))
    if getattr(model.config, "reads_padding", False):
        padding = 0
    costs = texts.lengths + 1
    texts_per_cost = len(texts) / max(costs.sum(), 1)
    batches = length_batches(texts.lengths, size, padding)
    for rows in tracked(batches, len(texts), name, size=lambda rows: float(costs[rows].sum() * texts_per_cost)):
        yield rows, padded(texts, rows, model.config.pad_token_id or 0, labelled).to(model.device)


def of_equal_length(batch: Batch) -> Iterator[tuple[torch.Tensor, Batch]]:
    """Yields the texts of a batch without padding, those of one length together, each with the numbers of its rows."""
    lengths = batch.attention_mask.sum(1).clamp(min=1)  # a text without tokens has one of padding
    for length in lengths.unique().tolist():
        rows = (lengths == length).nonzero().flatten()
        types, labels = batch.token_type_ids, batch.labels
        ids, mask, segment = (part[rows, :length] for part in (batch.input_ids, batch.attention_mask, batch.segment))
        types = None if types is None else types[rows, :length]
        yield rows, Batch(ids, mask, segment, None if labels is None else labels[rows], types)


def padded(texts: Encoded, rows: np.ndarray, padding: int = 0, labelled: bool = False) -> Batch:
    """The batch that a `Collator` makes of the texts at `rows`, copied at once instead of text by text."""
    lengths = texts.lengths[rows, None]
    positions = np.arange(max(lengths.max(), 1))  # no model accepts a batch without a position
    inside = positions < lengths
    flat = (texts.starts[rows, None] + positions)[inside]

    def placed(values: np.ndarray, filling: int = 0) -> torch.Tensor:
        rows = np.full(inside.shape, filling, np.int64)
        rows[inside] = values[flat]
        return torch.from_numpy(rows)

    types = None if texts.types is None else placed(texts.types)
    labels = None
    if labelled and texts.labels is not None:
        labels = torch.from_numpy(np.asarray(texts.labels, np.int64)[rows])
    mask = torch.from_numpy(inside.astype(np.int64))
    return Batch(placed(texts.ids, padding), mask, placed(texts.segments), labels, types)


def in_order(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The values of all batches, each with the indices of its rows, in the order of the rows."""
    rows, values = zip(*parts, strict=True)
    return np.concatenate(values)[np.argsort(np.concatenate(rows))]
