"""Attention by part of speech (Lewy and Mańdziuk, 2023, AttentionMix, section 6.5, Figures 5 to 7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from salience.analysis.tagging import Tagged, in_order
from salience.explainers.corpus import explain_tokens
from salience.explainers.word_tokens import SPECIAL, encode_words


@dataclass(frozen=True)
class ByTag:
    """The mean of a score over the words, or tokens, of each part of speech, beside the mean over all of them."""

    tags: list[str]  # sorted
    count: np.ndarray  # (G,)
    mean: np.ndarray  # (G,)
    overall: float

    @property
    def relative(self) -> np.ndarray:
        """Means as parts of the overall mean (G,); weighted by `count` they average to 1."""
        return self.mean / self.overall

    @property
    def difference(self) -> np.ndarray:
        """Means minus the overall mean (G,)."""
        return self.mean - self.overall


def by_tag(scores: Sequence[float], tags: Sequence[str]) -> ByTag:
    """Scores averaged by tag.

    Raises:
        ValueError: there is nothing to average.
    """
    if not len(tags):
        raise ValueError("no word has a part of speech")
    names, number = np.unique(np.asarray(tags), return_inverse=True)
    count, scores = np.bincount(number), np.asarray(scores, float)
    return ByTag(names.tolist(), count, np.bincount(number, scores) / count, float(scores.mean()))


@dataclass(frozen=True)
class TaggedScores:
    """Scores of the tagged tokens of texts, in the texts' order: what a special token gets belongs to none."""

    scores: list[np.ndarray]  # of each text (U,), or (U, H) of H heads
    tags: list[np.ndarray]  # (U,) as words
    places: list[np.ndarray]  # (U,) where in its text each stands, special tokens counted

    def by_tag(self) -> ByTag:
        return by_tag(np.concatenate(self.scores), np.concatenate(self.tags))


def tagged_attention(
    model, tokenizer, texts: Sequence[str], tagged: Sequence[Tagged], attention: Callable,
    max_length: int | None = None, words: bool = False,
) -> TaggedScores:  # fmt: skip
    """How much attention the tagged words of texts receive; word pieces have their word's tag.

    Args:
        attention: `Attention(layer, head)`, or another explainer; also one that gives (B, T, H) of H heads at once.
            `mean=False` weighs a token of a long text as much as one of a short text.
        words: sum the pieces of a word, and let it stand where its first piece does.

    Raises:
        InputError: a tagged word is empty or outside its text, or two of them overlap.
    """
    tagged = [in_order(text, own, number) for number, (text, own) in enumerate(zip(texts, tagged, strict=True), 1)]
    spans = iter([[(start, end) for start, end, _ in own] for own in tagged])
    encoded = encode_words(tokenizer, texts, max_length=max_length, spans=lambda text: next(spans))
    received = explain_tokens(model, encoded.encoded, attention)
    found = TaggedScores([], [], [])
    for row, own in enumerate(received):
        number = encoded.words_of(row)
        place = np.flatnonzero(number != SPECIAL)
        number, own = number[place], own[place]
        if words:
            number, first = np.unique(number, return_index=True)  # a word's pieces stand together
            place, own = place[first], np.add.reduceat(own, first, axis=0) if len(first) else own
        names = np.array([tag for _, _, tag in tagged[row]], dtype=object)
        found.scores.append(own)
        found.tags.append(names[number] if len(number) else np.zeros(0, object))
        found.places.append(place)
    return found


@dataclass(frozen=True)
class Meetings:
    """What becomes of words in AttentionMix's mixtures, by their own part of speech and that of the word they meet.

    The paper looks at the attention of x_1 alone and leaves x_2's for later. In a mixture the two meet place by
    place: a word keeps b_1 / (b_1 + b_2) (Eq. 7), and its partner has the rest.
    """

    tags: list[str]
    count: np.ndarray  # (G, G) meetings of own tag (row) and partner's tag (column)
    kept: np.ndarray  # (G, G) mean part that the own word keeps; NaN where such words never met

    @property
    def own(self) -> np.ndarray:
        """The part that words of a tag keep, whatever they meet (G,)."""
        return part(np.nansum(self.kept * self.count, 1), self.count.sum(1))

    @property
    def partner(self) -> np.ndarray:
        """The part that a partner's words of a tag take, whatever they meet (G,)."""
        return part(np.nansum((1 - self.kept) * self.count, 0), self.count.sum(0))


def part(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Means, NaN where there is nothing."""
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def meetings(texts: TaggedScores, partner: np.ndarray) -> Meetings:
    """Pairs of texts, each with the text at `partner`, met place by place where both have a tagged word."""
    own_tags, other_tags, parts = [], [], []
    for row, other in enumerate(partner):
        _, here, there = np.intersect1d(texts.places[row], texts.places[other], return_indices=True)
        mine, theirs = texts.scores[row][here], texts.scores[other][there]
        with np.errstate(invalid="ignore"):
            parts.append(np.where(mine + theirs > 0, mine / (mine + theirs), 0.5))
        own_tags.append(texts.tags[row][here])
        other_tags.append(texts.tags[other][there])
    names, numbers = np.unique(np.concatenate([*own_tags, *other_tags]), return_inverse=True)
    own, other = np.split(numbers, 2)
    cell, size = own * len(names) + other, len(names) ** 2
    count = np.bincount(cell, minlength=size).reshape(len(names), len(names))
    total = np.bincount(cell, np.concatenate(parts), size).reshape(len(names), len(names))
    return Meetings(names.tolist(), count, part(total, count))
