"""Removing the words of texts in the order of their scores, and what a judge says of the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # the command line lists the metrics without waiting for torch
    from salience.data.encoding import Encoded
    from salience.data.words import Words

Judge = Callable[["Encoded"], np.ndarray]  # probabilities (N, C) of N texts


@dataclass(frozen=True, eq=False)
class Reading:
    """N texts as one classifier reads them.

    Args:
        texts: the texts, encoded with their words.
        judge: gives the classifier's probabilities (N, C) of encoded texts.
        empty_token: the token that stands for a text of which nothing is left.
        leave_one_out_rows: the texts whose words are left out one at a time for `leave_one_out`; None is all.
    """

    texts: Encoded
    judge: Judge
    empty_token: int
    leave_one_out_rows: Sequence[int] | np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def whole(self) -> np.ndarray:
        """The probabilities (N, C) of the whole texts."""
        return self.judge(self.texts)

    def keeping(self, kept: np.ndarray, rows: Sequence[int]) -> np.ndarray:
        """The probabilities (R, C) of the texts at `rows` with some of their words, in the order of the text.

        Args:
            kept: bool, flat over the words of all N texts.
        """
        return self.judge(self.texts.keeping(kept, self.empty_token).take(rows))

    @cached_property
    def leave_one_out(self) -> dict[int, np.ndarray]:
        """For each of `leave_one_out_rows`, what each word adds (W,) to ln p of the class predicted for the text."""
        rows = range(len(self)) if self.leave_one_out_rows is None else self.leave_one_out_rows
        drops = leave_one_out(self.judge, self.texts.take(rows), self.empty_token)
        return dict(zip(map(int, rows), drops, strict=True))


@dataclass(frozen=True, eq=False)
class Erasure:
    """The scores of the words of N texts, and what a judge says without the words of the highest scores.

    The judge is asked when a metric needs an answer, and each answer is kept: a metric costs its own passes only, and
    metrics share theirs. An erased text is shorter: nothing stands in the place of the removed words. The answers for
    one number of words can differ by rounding (1e-6), as they depend on which texts share a batch.

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
    _known: dict[tuple[str, int, int], np.ndarray] = field(default_factory=dict, repr=False)

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
        return self._judged("without", np.minimum(count, self.counts), np.greater_equal)

    def alone(self, count: int | np.ndarray) -> np.ndarray:
        """The probabilities (N, C) of the `count` highest words alone, in the text's order; 0 is the whole text."""
        counts = np.minimum(count, self.counts)
        return self._judged("alone", np.where(self.counts == 1, 0, counts), np.less)

    def curve_without(self) -> np.ndarray:
        """`without` 0, 1, ..., `most` words (K + 1, N, C)."""
        return np.stack([self.without(count) for count in range(self.most + 1)])

    def curve_alone(self) -> np.ndarray:
        """`alone` of the whole text and of 1, ..., `most` words (K + 1, N, C)."""
        return np.stack([self.alone(count) for count in range(self.most + 1)])

    def _judged(self, which: str, counts: np.ndarray, keeps: Callable) -> np.ndarray:
        """The known probabilities of each text at its number of words; the judge is asked once for the others."""
        keys = [(which, row, count) for row, count in enumerate(counts.tolist())]
        missing = [row for row, key in enumerate(keys) if key[2] and key not in self._known]
        if missing:
            kept = keeps(self.rank, np.repeat(counts, self.counts))
            self._known.update(zip((keys[row] for row in missing), self.judge.keeping(kept, missing), strict=True))
        return np.stack([self._known[key] if key[2] else self.judge.whole[key[1]] for key in keys])


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


def leave_one_out(judge: Judge, texts: Encoded, empty: int, at_once: int = 4096) -> list[np.ndarray]:
    """What each word adds (W,): ln p of the class predicted for the whole text, minus ln p without the word.

    Args:
        empty: the token that stands for a text of which nothing is left.
        at_once: shortened texts that are encoded at a time.
    """
    whole, counts = judge(texts), texts.words.counts
    predicted = whole.argmax(1)
    rows = np.repeat(np.arange(len(texts)), counts)
    places = np.concatenate([np.zeros(0, np.int64), *(np.arange(count) for count in counts)])
    left = np.empty(len(rows))
    for start in range(0, len(rows), at_once):
        part = slice(start, start + at_once)
        several = texts.take(rows[part])
        kept = np.ones(several.words.counts.sum(), bool)
        kept[several.words.counts.cumsum() - several.words.counts + places[part]] = False
        probabilities = judge(several.keeping(kept, empty))
        left[part] = probabilities[np.arange(len(several)), predicted[rows[part]]]
    drops = np.log(whole[rows, predicted[rows]]) - np.log(left)
    return np.split(drops, counts.cumsum()[:-1])
