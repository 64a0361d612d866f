"""Removing the words of texts in the order of their scores, and what a judge says of the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from salience.work import tracked

if TYPE_CHECKING:
    from salience.data.encoding import Words

Judge = Callable[[Any], np.ndarray]  # probabilities (N, C) of N texts, which are as those of the reading
Erased = tuple[int, bytes]  # a text's number, and for each of its words a byte: 1 if it is kept
AT_ONCE = 4096  # erased texts that are encoded at a time
JUDGING = "predicting shortened texts"  # the name of the work


@dataclass(eq=False)
class Reading:
    """N texts as one classifier reads them.

    An erased text is shorter: nothing stands in the place of the removed words. What the classifier says of it is kept
    as long as the reading. It can differ by rounding (1e-6), as it depends on which texts share a batch.
    """

    texts: Any  # `Encoded` with its words, or what has its `words`, `labels`, `cut`, `take`, `keeping` and length
    judge: Judge
    empty_token: int  # stands for a text of which nothing is left
    leave_one_out_rows: Sequence[int] | np.ndarray | None = None  # of the texts of `leave_one_out`; None is all
    targets: np.ndarray | None = None  # (N,) the labels that metrics are about; None: the most probable ones
    decide: Callable[[np.ndarray], np.ndarray] | None = None  # probabilities (..., C) to predicted labels, bool
    owners: np.ndarray | None = None  # (N,) equal where a text is there with several targets; it is asked about once
    _known: dict[Erased, np.ndarray] = field(default_factory=dict, repr=False, init=False)
    _noted: dict[Erased, None] | None = field(default=None, repr=False, init=False)

    def __len__(self) -> int:
        return len(self.texts)

    def part(self, rows: slice) -> Reading:
        """Some of the texts, of which nothing has been asked yet."""
        numbers = range(len(self))[rows]
        left_out = self.leave_one_out_rows
        if left_out is not None:
            left_out = [row - numbers.start for row in left_out if row in numbers]
        targets, owners = (None if each is None else each[rows] for each in (self.targets, self.owners))
        return Reading(self.texts.take(numbers), self.judge, self.empty_token, left_out, targets, self.decide, owners)

    @cached_property
    def _first(self) -> np.ndarray:
        """For each of the N texts, the number of the first one that is the same."""
        if self.owners is None:
            return np.arange(len(self))
        _, firsts, places = np.unique(self.owners, return_index=True, return_inverse=True)
        return firsts[places]

    @cached_property
    def whole(self) -> np.ndarray:
        """The probabilities (N, C) of the whole texts."""
        firsts, places = np.unique(self._first, return_inverse=True)
        if len(firsts) == len(self):
            return self.judge(self.texts)
        return self.judge(self.texts.take(firsts.tolist()))[places]

    @cached_property
    def target(self) -> np.ndarray:
        """The label (N,) that metrics are about."""
        return self.whole.argmax(1) if self.targets is None else self.targets

    def of_target(self, values: np.ndarray) -> np.ndarray:
        """The values (..., N) of the label that metrics are about, from those of all labels (..., N, C)."""
        return values[..., np.arange(len(self)), self.target]

    def decided(self, probabilities: np.ndarray) -> np.ndarray:
        """Whether the label that metrics are about is predicted (..., N), from probabilities (..., N, C)."""
        if self.decide is None:
            return probabilities.argmax(-1) == self.target
        return self.of_target(self.decide(probabilities))

    def keeping(self, kept: np.ndarray, rows: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
        """The probabilities (R, C) of the texts at `rows`, or of all, with some of their words, in the text's order.

        `kept` is bool, flat over the words of these R texts. A text may be named several times.
        """
        rows = np.arange(len(self)) if rows is None else np.asarray(rows, int)
        words, ends = kept.tobytes(), [0, *self.texts.words.counts[rows].cumsum().tolist()]
        same = self._first[rows].tolist()
        erased = [(row, words[start:end]) for row, (start, end) in zip(same, pairwise(ends), strict=True)]
        missing = dict.fromkeys(text for text in erased if 0 in text[1] and text not in self._known)
        if self._noted is not None:
            self._noted |= missing
        if self._noted is not None or not erased:
            return self.whole[rows]
        self._ask(missing)
        return np.array([self._known[text] if 0 in text[1] else self.whole[text[0]] for text in erased])

    def leave_one_out(self) -> dict[int, np.ndarray]:
        """For each of `leave_one_out_rows`, what each word adds (W,) to ln p of the label that metrics are about."""
        rows = np.arange(len(self)) if self.leave_one_out_rows is None else np.asarray(self.leave_one_out_rows, int)
        counts = self.texts.words.counts[rows]
        kept = [np.zeros(0, bool), *(~np.eye(count, dtype=bool).ravel() for count in counts)]
        of_words = np.repeat(rows, counts)
        left, target = self.keeping(np.concatenate(kept), of_words).astype(float), self.target[of_words]
        whole = self.whole[of_words, target].astype(float)
        drops = np.log(whole) - np.log(left[np.arange(len(left)), target])
        return dict(zip(rows.tolist(), np.split(drops, counts.cumsum())[:-1], strict=True))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Inside the `with`, erased texts are noted and not judged; at its end, all of them are judged together.

        The probabilities of the whole texts stand for answers that are not known yet: a computation is run inside the
        `with` to learn what it asks for, and after it for its result.
        """
        outer, self._noted = self._noted, {}
        try:
            yield
            noted = self._noted
        finally:
            self._noted = outer
        self._ask(noted)

    def _ask(self, missing: dict[Erased, None]) -> None:
        order = sorted(missing, key=lambda text: text[1].count(1))  # so that texts of one batch are alike
        parts = (order[start : start + AT_ONCE] for start in range(0, len(order), AT_ONCE))
        for part in tracked(parts, len(order), JUDGING, size=len):
            kept = np.frombuffer(b"".join(words for _, words in part), bool)
            texts = self.texts.take([row for row, _ in part]).keeping(kept, self.empty_token)
            self._known.update(zip(part, self.judge(texts), strict=True))


@dataclass(frozen=True, eq=False)
class Erasure:
    """The scores of the words of N texts, and what a judge says without the words of the highest scores.

    The judge is asked when a metric needs an answer, and its `Reading` keeps each answer: a metric costs its own
    passes only, and the metrics of all erasures over one reading share theirs.
    """

    judge: Reading  # the texts as the judge reads them
    scores: Sequence[np.ndarray]  # of each text's words (W,), as the explained classifier reads them
    explained: Reading | None = None  # the texts as the explained classifier reads them; None: it is the judge
    most: int = 20  # the largest number of words that the metrics over all numbers of words remove
    marked: Sequence[Sequence[int]] | None = None  # numbers of the words that a person has marked in each text

    @property
    def labels(self) -> np.ndarray:
        """The texts' labels (N,); a ValueError where they are not known."""
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
        """The probabilities (N, C) without the `count`, or (N,) counts, highest words of each text."""
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
        return np.repeat(np.broadcast_to(count, len(self.judge)), self.counts)


def ranks(scores: Sequence[np.ndarray]) -> np.ndarray:
    """The rank of every word in its text, 0 the highest score; ties by place. Flat over the texts' words."""
    by_text = [np.empty(len(values), np.int64) for values in scores]
    for rank, values in zip(by_text, scores, strict=True):
        rank[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return np.concatenate(by_text) if by_text else np.zeros(0, np.int64)


def as_judged(scores: Sequence[np.ndarray], explained: Words, judged: Words) -> list[np.ndarray]:
    """The scores of the words that the judge reads; words that the explained classifier has not read come last."""
    fitted = []  # a classifier that reads less lacks words at the end of a text, and of either text of a pair
    for row, values in enumerate(scores):
        read, asked = ([start for start in [words.second[row]] if start is not None] for words in (explained, judged))
        counts = np.diff([0, *asked, judged.counts[row]])
        parts = zip(np.split(values, read), counts, strict=True)
        unread = [np.append(part[:count], np.full(max(count - len(part), 0), -np.inf)) for part, count in parts]
        fitted.append(np.concatenate(unread))
    return fitted
