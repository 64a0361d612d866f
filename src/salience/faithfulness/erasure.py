"""Removing the words of texts in the order of their scores, and what a judge says of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from salience.faithfulness.reading import Reading

if TYPE_CHECKING:  # the command line lists the metrics without waiting for torch
    from salience.data.words import Words


@dataclass(frozen=True, eq=False)
class Erasure:
    """The scores of the words of N texts, and what a judge says without the words of the highest scores.

    The judge is asked when a metric needs an answer, and its `Reading` keeps each answer: a metric costs its own
    passes only, and the metrics of all erasures over one reading share theirs.

    Args:
        judge: the texts as the judge reads them; their labels are those of its encoded texts.
        scores: of each text's words (W,), as the explained classifier reads them.
        explained: the texts as the explained classifier reads them; None: it is the judge.
        most: the largest number of words that the metrics over all numbers of words remove.
        marked: the numbers of the words that a person has marked in each text, where that is known.
    """

    judge: Reading
    scores: Sequence[np.ndarray]
    explained: Reading | None = None
    most: int = 20
    marked: Sequence[Sequence[int]] | None = None

    @property
    def labels(self) -> np.ndarray:
        """The texts' labels (N,).

        Raises:
            ValueError: they are not known.
        """
        if self.judge.texts.labels is None:
            raise ValueError("the metric needs the labels of the texts")
        return self.judge.texts.labels

    @property
    def counts(self) -> np.ndarray:
        """The number of words (N,) that the judge reads of each text."""
        return self.judge.texts.words.counts

    @cached_property
    def rank(self) -> np.ndarray:
        """The rank of every word in its text, 0 the highest score; flat over the words that the judge reads."""
        if self.explained is None:
            return ranks(self.scores)
        return ranks(as_judged(self.scores, self.explained.texts.words, self.judge.texts.words))

    def without(self, count: int | np.ndarray) -> np.ndarray:
        """The probabilities (N, C) without the `count` highest words of each text, or all where it has fewer.

        Args:
            count: one number for all texts, or one for each (N,).
        """
        return self.judge.keeping(self.rank >= self._by_word(count))

    def alone(self, count: int | np.ndarray) -> np.ndarray:
        """The probabilities (N, C) of the `count` highest words alone, in the text's order; 0 is the whole text."""
        counts = self._by_word(count)
        return self.judge.keeping((self.rank < counts) | (counts == 0))

    def curve_without(self) -> np.ndarray:
        """`without` 0, 1, ..., `most` words (K + 1, N, C)."""
        return np.stack([self.without(count) for count in range(self.most + 1)])

    def curve_alone(self) -> np.ndarray:
        """`alone` of the whole text and of 1, ..., `most` words (K + 1, N, C)."""
        return np.stack([self.alone(count) for count in range(self.most + 1)])

    def _by_word(self, count: int | np.ndarray) -> np.ndarray:
        """The number of words of each text, for each of its words."""
        return np.repeat(np.broadcast_to(count, len(self.judge)), self.counts)


def ranks(scores: Sequence[np.ndarray]) -> np.ndarray:
    """The rank of every word in its text, 0 the highest score; ties by place. Flat over the texts' words."""
    by_text = [np.empty(len(values), np.int64) for values in scores]
    for rank, values in zip(by_text, scores, strict=True):
        rank[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return np.concatenate(by_text) if by_text else np.zeros(0, np.int64)


def as_judged(scores: Sequence[np.ndarray], explained: Words, judged: Words) -> list[np.ndarray]:
    """The scores of the words that the judge reads; words that the explained classifier has not read come last.

    A classifier that reads less lacks words at the end of a text, and of either text of a pair.
    """
    fitted = []
    for row, values in enumerate(scores):
        parts = np.split(values, _second_start(explained, row))
        counts = np.diff([0, *_second_start(judged, row), judged.counts[row]])
        fitted.append(np.concatenate([_of_length(part, count) for part, count in zip(parts, counts, strict=True)]))
    return fitted


def _second_start(words: Words, row: int) -> list[int]:
    """The number of the first word of the second text, if there is one."""
    second = words.second[row]
    return [] if second is None else [second]


def _of_length(scores: np.ndarray, count: int) -> np.ndarray:
    return np.concatenate([scores[:count], np.full(max(count - len(scores), 0), -np.inf)])
