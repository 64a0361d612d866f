"""Attention by part of speech (Lewy and Mańdziuk, 2023, AttentionMix, arXiv 2309.11104, section 6.5, Figures 5-7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from torch import nn
from transformers import PreTrainedTokenizerBase

from salience.analysis.tagging import Tagged, in_order
from salience.data.encoding import encode_texts
from salience.data.words import SPECIAL
from salience.explainers.corpus import explain_tokens


@dataclass(frozen=True)
class ByTag:
    """The mean of a score over the words, or tokens, of each of G parts of speech.

    Attributes:
        tags: the parts of speech, sorted.
        count: number of words of each (G,).
        mean: mean score of each (G,).
        overall: mean score of all words.
    """

    tags: list[str]
    count: np.ndarray
    mean: np.ndarray
    overall: float

    @property
    def relative(self) -> np.ndarray:
        """The means divided by the overall mean (G,); their mean weighted by `count` is 1."""
        return self.mean / self.overall

    @property
    def difference(self) -> np.ndarray:
        """The means minus the overall mean (G,)."""
        return self.mean - self.overall


def by_tag(scores: ArrayLike, tags: ArrayLike) -> ByTag:
    """Averages scores (N,) by tag (N,).

    Raises:
        ValueError: there are no tags.
    """
    tags = np.asarray(tags)
    if not len(tags):
        raise ValueError("no word has a part of speech")
    names, index = np.unique(tags, return_inverse=True)
    count, scores = np.bincount(index), np.asarray(scores, float)
    return ByTag(names.tolist(), count, np.bincount(index, scores) / count, float(scores.mean()))


@dataclass(frozen=True)
class TaggedScores:
    """Scores of the tagged tokens, or words, of texts. Special tokens are left out.

    Attributes:
        scores: of each text (U,), or (U, H) for H heads.
        tags: the part of speech of each token of each text (U,).
        places: the position of each token in its text (U,), special tokens counted.
    """

    scores: list[np.ndarray]
    tags: list[np.ndarray]
    places: list[np.ndarray]

    def by_tag(self) -> ByTag:
        """The scores of all texts, averaged by tag."""
        return by_tag(np.concatenate(self.scores), np.concatenate(self.tags))


def tagged_attention(
    model: nn.Module, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], tagged: Sequence[Tagged],
    attention: Callable, max_length: int | None = None, words: bool = False,
) -> TaggedScores:  # fmt: skip
    """The attention that the tagged words of texts receive. A token has the tag of the word that it is a part of.

    Args:
        model: the classifier.
        tokenizer: its tokenizer.
        texts: the texts.
        tagged: the tagged words of each text.
        attention: an explainer such as `Attention(layer, head)`; it may also return the scores of H heads (B, T, H).
            With `mean=False` of `Attention`, a token of a long text has the weight of a token of a short text.
        max_length: number of tokens read of a text; None reads all.
        words: whether to sum the scores of the tokens of a word; the word has the position of its first token.

    Raises:
        InputError: a tagged word is empty or outside its text, or two of them overlap.
    """
    ordered = [
        in_order(text, spans, number) for number, (text, spans) in enumerate(zip(texts, tagged, strict=True), 1)
    ]
    spans = iter([[(start, end) for start, end, _ in words_of_text] for words_of_text in ordered])
    encoded = encode_texts(tokenizer, texts, max_length=max_length, spans=lambda text: next(spans))
    result = TaggedScores([], [], [])
    for row, received in enumerate(explain_tokens(model, encoded, attention)):
        word_index = encoded.words_of(row)
        position = np.flatnonzero(word_index != SPECIAL)
        word_index, scores = word_index[position], received[position]
        if words:
            word_index, first = np.unique(word_index, return_index=True)  # the tokens of a word are adjacent
            position = position[first]
            scores = np.add.reduceat(scores, first, axis=0) if len(first) else scores
        names = np.array([tag for _, _, tag in ordered[row]], dtype=object)
        result.scores.append(scores)
        result.tags.append(names[word_index] if len(word_index) else np.zeros(0, object))
        result.places.append(position)
    return result


@dataclass(frozen=True)
class Meetings:
    """The shares that words keep in AttentionMix, by their part of speech and that of the partner's word.

    Two texts are mixed position by position: a word with attention b_1 that meets a word with attention b_2 keeps
    the share b_1 / (b_1 + b_2) (Eq. 7), and the partner's word has the rest. The paper analyses the attention of x_1
    alone and leaves that of x_2 to future work.

    Attributes:
        tags: the G parts of speech, sorted.
        count: (G, G), how often a word of a tag (row) meets a partner's word of a tag (column).
        kept: (G, G), the mean share that the word keeps; NaN where such words never meet.
    """

    tags: list[str]
    count: np.ndarray
    kept: np.ndarray

    @property
    def own(self) -> np.ndarray:
        """The mean share that words of each tag keep (G,)."""
        return _means(np.nansum(self.kept * self.count, 1), self.count.sum(1))

    @property
    def partner(self) -> np.ndarray:
        """The mean share that a partner's words of each tag have (G,)."""
        return _means(np.nansum((1 - self.kept) * self.count, 0), self.count.sum(0))


def _means(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Totals divided by counts, NaN where the count is 0."""
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def meetings(texts: TaggedScores, partner: np.ndarray) -> Meetings:
    """The shares that words keep when every text is mixed with a partner, at positions where both have a tagged word.

    Args:
        texts: scores of N texts, with one score for each token or word.
        partner: index of each text's partner (N,).
    """
    own_tags, partner_tags, shares = [], [], []
    for row, other in enumerate(partner):
        _, here, there = np.intersect1d(texts.places[row], texts.places[other], return_indices=True)
        own_scores, partner_scores = texts.scores[row][here], texts.scores[other][there]
        total = own_scores + partner_scores
        with np.errstate(invalid="ignore"):
            shares.append(np.where(total > 0, own_scores / total, 0.5))
        own_tags.append(texts.tags[row][here])
        partner_tags.append(texts.tags[other][there])
    names, indices = np.unique(np.concatenate([*own_tags, *partner_tags]), return_inverse=True)
    own_tag, partner_tag = np.split(indices, 2)
    cell, size = own_tag * len(names) + partner_tag, len(names) ** 2
    count = np.bincount(cell, minlength=size).reshape(len(names), len(names))
    total = np.bincount(cell, np.concatenate(shares), size).reshape(len(names), len(names))
    return Meetings(names.tolist(), count, _means(total, count))
