"""Losses and mixtures of a training step that read which words are marked; `bench/marks.py` compares them.

`salience train --marks` has none of them: docs/research/studies/marks.md says what they gave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from salience.batch import Batch
from salience.data.marks import Mark
from salience.hooks.hooks import forward, reading
from salience.mixing import METHODS, AttentionMix, SSMix
from salience.mixing.method import Method
from salience.training.objective import Objective, cross_entropy

WEIGHT = 0.2  # of a further loss, as the default recipe weighs its cross-entropy
ATTENDED = 5.0  # what a marked word receives of attention, as a multiple of another word


@dataclass(frozen=True)
class Marked:
    """Which tokens of a batch are marked, found by the ids of its texts; all words are in texts that are not known.

    As the guide of a mixing method it gives marked words a score of 1, and others 0. A little chance decides among
    equal ones, which would else be the first.
    """

    known: Mapping[tuple[int, ...], np.ndarray]  # by the ids of a text, (T,) bool

    @classmethod
    def of(cls, tokenizer, texts: Sequence[str], marks: Sequence[Sequence[Mark]], max_length: int) -> Marked:
        read = tokenizer(list(texts), truncation=True, max_length=max_length, return_offsets_mapping=True)
        inside = (
            np.array([any(mark.start < end and start < mark.end for mark in own) for start, end in offsets])
            for offsets, own in zip(read["offset_mapping"], marks, strict=True)
        )
        return cls(dict(zip(map(tuple, read["input_ids"]), inside, strict=True)))

    def tokens(self, batch: Batch) -> Tensor:
        """(B, T) bool"""
        words = batch.segment > 0
        for row, (ids, length) in enumerate(zip(batch.input_ids.tolist(), batch.attention_mask.sum(1), strict=True)):
            if (inside := self.known.get(tuple(ids[:length]))) is not None:
                words[row, :length] &= torch.from_numpy(inside)
        return words

    def __call__(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
        return self.tokens(batch) + torch.rand(batch.segment.shape) / 100


def nothing_left(objective: Objective, marked: Marked) -> Objective:
    """With a loss by which a text without its marked words says nothing: its label is every class alike."""

    def with_nothing(model: nn.Module, batch: Batch) -> Iterator[Tensor]:
        yield from objective(model, batch)
        kept = batch.attention_mask.bool() & ~marked.tokens(batch)
        order = (~kept).to(torch.int8).sort(dim=1, stable=True).indices[:, : int(kept.sum(1).max())]
        bare = Batch(
            batch.input_ids.gather(1, order), kept.gather(1, order).long(),
            (batch.segment * kept).gather(1, order), batch.labels,
        )  # fmt: skip
        logits = forward(model, bare)
        yield WEIGHT * cross_entropy(logits, torch.full_like(logits, 1 / logits.shape[1]))

    return with_nothing


def right_reasons(objective: Objective, marked: Marked) -> Objective:
    """With a penalty on what other words than the marked ones weigh in the gradient.

    Ross, Hughes and Doshi-Velez (2017), arXiv:1703.03717, Eq. 1: the squared gradient of the sum of the log
    probabilities in the input, here in the output of the embedding block. Divided by that of all words, so that its
    size does not depend on how sure the model is.
    """

    def with_penalty(model: nn.Module, batch: Batch) -> Iterator[Tensor]:
        yield from objective(model, batch)
        with sdpa_kernel(SDPBackend.MATH), reading(model, "embeddings") as read:  # the only one with two derivatives
            total = F.log_softmax(forward(model, batch), 1).sum()
            (gradient,) = torch.autograd.grad(total, read.value, create_graph=True)
            energy, words = gradient.square().sum(2), batch.segment > 0
            others = (energy * (words & ~marked.tokens(batch))).sum(1) / (energy * words).sum(1).clamp(min=1e-12)
            yield WEIGHT * others.mean()

    return with_penalty


@dataclass(frozen=True)
class MarkedAttentionMix(AttentionMix):
    """AttentionMix with the marks in the place of the attention that a word receives."""

    marked: Marked | None = None

    @property
    def guide(self) -> Callable[..., Tensor]:  # type: ignore[override]
        assert self.marked is not None
        return lambda model, batch, target=None: (
            (1 + (ATTENDED - 1) * self.marked.tokens(batch)) * batch.attention_mask
        )


def of_units(marked: Marked) -> Callable[..., Tensor]:
    """The scores (B, T, D) of a guide for DropMix: those of a word for all of its units."""

    def scores(model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
        width = model.config.hidden_size  # type: ignore[union-attr]
        return marked(model, batch)[..., None].expand(-1, -1, width)

    return scores


OBJECTIVES: dict[str, Callable[[Objective, Marked], Objective]] = {
    "nothing left, soft": nothing_left, "right reasons": right_reasons,
}  # fmt: skip
GUIDED: dict[str, Callable[[Marked], Method]] = {
    "ssmix by marks": lambda marked: SSMix(guide=marked),
    "attentionmix by marks": lambda marked: MarkedAttentionMix(marked=marked),
    "dropmix-g by marks": lambda marked: METHODS["dropmix-g"](guide=of_units(marked)),
}
UNGUIDED = {name: METHODS[name]() for name in ("ssmix", "attentionmix", "dropmix-g")}
