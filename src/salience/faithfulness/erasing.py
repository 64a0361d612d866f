"""Taking words out of texts in the order of their scores, and what a judge says then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from salience.data.encoding import Encoded
from salience.explainers.word_tokens import WordTokens

Judge = Callable[[Encoded], np.ndarray]  # probabilities (N, C) of texts


def ranks(scores: Sequence[np.ndarray]) -> np.ndarray:
    """The rank of every word in its text, 0 the highest score; ties by place. Flat over the texts' words."""
    found = [np.empty(len(own), np.int64) for own in scores]
    for rank, own in zip(found, scores, strict=True):
        rank[np.argsort(-own, kind="stable")] = np.arange(len(own))
    return np.concatenate(found) if found else np.zeros(0, np.int64)


@dataclass(frozen=True)
class Curve:
    """A judge's probabilities after K = 0, 1, ... words of each text: (K + 1, N, C)."""

    probabilities: np.ndarray
    labels: np.ndarray  # (N,)

    @property
    def right(self) -> np.ndarray:
        """Whether the judge is right (K + 1, N)."""
        return self.probabilities.argmax(2) == self.labels


def without_top(judge: Judge, texts: WordTokens, rank: np.ndarray, most: int, empty: int) -> Curve:
    """What the judge says without the K highest words, for K from 0 to `most`: the texts close over the gaps.

    Every text loses the same number of words, and all of them where it has fewer. A text that has no word left to lose
    is not judged again.
    """
    return curve(judge, texts, lambda count: rank >= count, most, empty)


def top_alone(judge: Judge, texts: WordTokens, rank: np.ndarray, most: int, empty: int) -> Curve:
    """What the judge says of the K highest words alone, in the texts' order; K = 0 is the whole text."""
    return curve(judge, texts, lambda count: rank < count if count else np.ones_like(rank, bool), most, empty)


def curve(judge: Judge, texts: WordTokens, kept: Callable[[int], np.ndarray], most: int, empty: int) -> Curve:
    """The judge's probabilities for each number of words; a text that is what it was is not judged again."""
    known = judge(texts.keeping(kept(0), empty))
    found, before = [known], kept(0)
    row_of_word = np.repeat(np.arange(len(texts)), texts.counts)
    for count in range(1, most + 1):
        now = kept(count)
        changed = np.unique(row_of_word[now != before])
        known = known.copy()
        if len(changed):
            known[changed] = judge(texts.keeping(now, empty).take(changed))
        found.append(known)
        before = now
    return Curve(np.stack(found), np.asarray(texts.encoded.labels))


def leave_one_out(judge: Judge, texts: WordTokens, empty: int, at_once: int = 4096) -> list[np.ndarray]:
    """What each word adds (W,): ln p of the class predicted for the whole text, minus ln p without the word."""
    whole = judge(texts.encoded)
    predicted = whole.argmax(1)
    rows = np.repeat(np.arange(len(texts)), texts.counts)
    places = np.concatenate([np.zeros(0, np.int64), *(np.arange(count) for count in texts.counts)])
    left = np.empty(len(rows))
    for start in range(0, len(rows), at_once):
        part = slice(start, start + at_once)
        several = texts.take(rows[part])
        kept = np.ones(several.counts.sum(), bool)
        kept[several.counts.cumsum() - several.counts + places[part]] = False
        probabilities = judge(several.keeping(kept, empty))
        left[part] = probabilities[np.arange(len(several)), predicted[rows[part]]]
    drops = np.log(whole[rows, predicted[rows]]) - np.log(left)
    return np.split(drops, texts.counts.cumsum()[:-1])
