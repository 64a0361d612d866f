"""Attention by part of speech, as a table and as pictures.

Lewy and Mańdziuk (2023), AttentionMix, arXiv:2309.11104, section 6.5 and Figures 5 to 7.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from rich.table import Table
from torch import nn
from transformers import PreTrainedTokenizerBase

from salience.data.encoding import SPECIAL, encode_texts
from salience.data.marks import named_words, values_in
from salience.data.words import spaced_spans
from salience.errors import InputError, counted, quoted
from salience.explainers.explain import explain_tokens
from salience.report.pictures import COLOURS, HoverTexts, Marks, numbers
from salience.report.terminal import literal, titled
from salience.settings import is_whole

Tagged = list[tuple[int, int, str]]  # the words of a text: first character, character after the last, tag
Tagger = Callable[[Sequence[str]], Iterator[Tagged]]


@dataclass(frozen=True)
class SpacyTagger:
    """Yields the tagged words of each text, without white space, by universal parts of speech of a spaCy pipeline."""

    name: str = "en_core_web_sm"

    def __call__(self, texts: Sequence[str]) -> Iterator[Tagged]:
        """Yields the tags of each text. Raises an `InputError` if spaCy or the pipeline is not installed."""
        if find_spec("spacy") is None:
            raise InputError("parts of speech need spaCy (pip install spacy), or a column of tags: --tags COLUMN")
        import spacy

        try:
            pipeline = spacy.load(self.name, exclude=["ner", "lemmatizer"])
        except OSError as error:
            raise InputError(
                f"spaCy has no pipeline {self.name!r}: python -m spacy download {self.name}, or choose another one "
                "with --tagger"
            ) from error
        for document in pipeline.pipe(texts):
            yield [(word.idx, word.idx + len(word), word.pos_) for word in document if not word.is_space]


def tagged_by(name: str | None, texts: Sequence[str]) -> list[Tagged]:
    """The tags that a spaCy pipeline, or a function of the user's, gives the words of each text."""
    tagger = tagger_named(name)
    try:
        tagged = [list(words) for words in tagger(texts)]
    except InputError:
        raise
    except Exception as error:  # the user's own code
        raise InputError(f"--tagger {name}: {type(error).__name__}: {error}") from error
    if len(tagged) != len(texts):
        raise InputError(f"--tagger {name}: it gave the tags of {len(tagged)} texts for {len(texts)}")
    for word in (word for words in tagged for word in words):
        valid = isinstance(word, tuple | list) and len(word) == 3
        if not (valid and is_whole(word[0]) and is_whole(word[1]) and isinstance(word[2], str)):
            raise InputError(f'--tagger {name}: a word is (from, to, tag), as (0, 3, "DET"), not {word!r:.60}')
    return tagged


def tagger_named(name: str | None) -> Tagger:
    """A spaCy pipeline, or a function of the user's as module:function, which may be in the current folder."""
    if name is None or ":" not in name:
        return SpacyTagger() if name is None else SpacyTagger(name)
    module, _, function = name.partition(":")
    sys.path.append("")
    try:
        tagger = getattr(import_module(module), function)
    except Exception as error:  # the user's own code
        raise InputError(f"--tagger {name}: {error}") from error
    finally:
        sys.path.remove("")
    if not callable(tagger):
        raise InputError(f"--tagger {name}: {function} is no function")
    return tagger


def given_tags(value: Any, texts: Mapping[str, str], **_: Any) -> Tagged:
    """The words of the first text between white space, with the tags of a column, in the place of `marks_in`."""
    (tagged,) = named_words(list(map(str, values_in(value))), list(texts.values())[:1], spaced_spans)
    return tagged


def in_order(text: str, tagged: Tagged, number: int) -> Tagged:
    """The tagged words of a text in the order of the text; a tagger may return them in any order."""
    ordered = sorted((start, end, tag) for start, end, tag in tagged)
    for start, end, tag in ordered:
        if not 0 <= start < end <= len(text):
            raise InputError(
                f"text {number}: a tagged word is characters {start} to {end} ({quoted(tag)}), but the text has "
                f"{counted(len(text), 'character')}; write 0 <= from < to <= {len(text)}"
            )
    for (start, end, _), (next_start, next_end, _) in pairwise(ordered):
        if next_start < end:
            raise InputError(
                f"text {number}: the tagged words at characters {start} to {end} and {next_start} to {next_end} "
                "overlap; give every character to one word at most"
            )
    return ordered


@dataclass(frozen=True)
class ByTag:
    """The mean of a score over the words, or tokens, of each of G parts of speech."""

    tags: list[str]  # the parts of speech, sorted
    count: np.ndarray  # number of words of each (G,)
    mean: np.ndarray  # mean score of each (G,)
    overall: float  # mean score of all words

    @property
    def relative(self) -> np.ndarray:
        """The means divided by the overall mean (G,); their mean weighted by `count` is 1."""
        return self.mean / self.overall

    @property
    def difference(self) -> np.ndarray:
        """The means minus the overall mean (G,)."""
        return self.mean - self.overall


def by_tag(scores: ArrayLike, tags: ArrayLike) -> ByTag:
    """Averages scores (N,) by tag (N,)."""
    tags = np.asarray(tags)
    if not len(tags):
        raise ValueError("no word has a part of speech")
    names, index = np.unique(tags, return_inverse=True)
    count, scores = np.bincount(index), np.asarray(scores, float)
    return ByTag(names.tolist(), count, np.bincount(index, scores) / count, float(scores.mean()))


@dataclass(frozen=True)
class TaggedScores:
    """Scores of the tagged tokens, or words, of texts. Special tokens are left out."""

    scores: list[np.ndarray]  # of each text (U,), or (U, H) for H heads
    tags: list[np.ndarray]  # the part of speech of each token of each text (U,)
    places: list[np.ndarray]  # the position of each token in its text (U,), special tokens counted

    def by_tag(self) -> ByTag:
        """The scores of all texts, averaged by tag."""
        return by_tag(np.concatenate(self.scores), np.concatenate(self.tags))


def tagged_attention(
    model: nn.Module, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], tagged: Sequence[Tagged],
    attention: Callable, max_length: int | None = None, words: bool = False,
) -> TaggedScores:  # fmt: skip
    """The attention that the tagged words of texts receive. A token has the tag of the word that it is a part of.

    `attention` is an explainer; it may also return the scores of H heads (B, T, H). With `words`, the scores of the
    tokens of a word are summed, and the word has the position of its first token.
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
    alone and leaves that of x_2 to future work."""

    tags: list[str]  # the G parts of speech, sorted
    count: np.ndarray  # (G, G), how often a word of a tag (row) meets a partner's word of a tag (column)
    kept: np.ndarray  # (G, G), the mean share that the word keeps; NaN where such words never meet

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
    """The shares that words keep when each of N texts is mixed with its partner (N,), where both have a tagged
    word."""
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


Head = tuple[int, int | None]  # layer and head; None is the mean over the layer's heads


def head_of(text: str) -> Head:
    """A head from the command line: "0:8" is head 8 of layer 0, "0" the mean of the heads of layer 0."""
    layer, _, head = text.partition(":")
    try:
        return int(layer), int(head) if head else None
    except ValueError:
        raise InputError(f"{quoted(text)} is no head; write --heads 0:8,10:3, or a layer alone for its mean") from None


def named(head: Head) -> str:
    """What a head is called: "layer 0, head 8"."""
    return f"layer {head[0]}, " + ("mean of its heads" if head[1] is None else f"head {head[1]}")


def values_of_head(head: Head, by_tag: ByTag, met: Meetings) -> dict:
    """The values of one head as they are written to pos.json."""
    values = zip(by_tag.tags, by_tag.count, by_tag.mean, by_tag.relative, by_tag.difference, strict=True)
    return {
        "layer": head[0], "head": head[1], "mean": by_tag.overall,
        "tags": {
            tag: {
                "count": int(count), "mean": float(mean), "relative": float(relative), "difference": float(difference)
            }
            for tag, count, mean, relative, difference in values
        },
        "mixtures": {
            "tags": met.tags, "own words keep": numbers(met.own), "partner's words take": numbers(met.partner),
            "own words keep, by partner's tag": [numbers(row) for row in met.kept],
        },
    }  # fmt: skip


def head_table(by_head: Mapping[Head, ByTag], title: str) -> Table:
    """Attention relative to each head's mean, a row for each part of speech, the first head's highest first."""
    table = titled(title)
    table.add_column("tag")
    table.add_column("count", justify="right")
    for head in by_head:
        table.add_column(named(head), justify="right")
    first = next(iter(by_head.values()))
    for index in np.argsort(-first.relative):
        cells = (f"{by_tag.relative[index]:.2f}" for by_tag in by_head.values())
        table.add_row(literal(first.tags[index]), str(first.count[index]), *cells)
    return table


def bars(axes: Axes, tags: Sequence[str], heads: Mapping[str, Sequence[float] | np.ndarray], title: str) -> HoverTexts:
    """Figures 5 to 7: a bar for each of G parts of speech and each head, whose values (G,) are relative to its
    mean."""
    texts: dict[Marks, list[str]] = {}
    positions, width = np.arange(len(tags)), 0.8 / len(heads)
    for index, (head, heights) in enumerate(heads.items()):
        shift = width * (index - (len(heads) - 1) / 2)
        drawn = axes.bar(positions + shift, heights, width, color=COLOURS[index % len(COLOURS)], label=head)
        for bar, tag, height in zip(drawn, tags, heights, strict=True):
            texts[bar] = [f"{tag}, {head}: {height:.2f} times the mean"]
    axes.axhline(1, color="black", linewidth=0.6)
    axes.set_xticks(positions, tags, rotation=60)
    axes.set(xlabel="part of speech", ylabel="attention, relative to the mean")
    axes.set_title(title, loc="left")
    axes.legend(frameon=False)
    return texts


def meeting_map(axes: Axes, met: Meetings, title: str) -> HoverTexts:
    """What a word keeps of itself where it is mixed with a partner's word, by the parts of speech of both."""
    tags, positions = met.tags, range(len(met.tags))
    cells = axes.pcolormesh(positions, positions, met.kept, cmap="RdBu_r", vmin=0, vmax=1)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.set_xticks(positions, tags, rotation=90)
    axes.set_yticks(positions, tags)
    axes.set(xlabel="the partner's word", ylabel="one's own word")
    axes.set_title(f"What a word keeps in AttentionMix's mixtures: {title}", loc="left")
    axes.figure.colorbar(cells, ax=axes, shrink=0.8, label="part that is kept")
    return {
        cells: [
            f"{tag} mixed with {partner}: " + ("never met" if np.isnan(kept) else f"keeps {kept:.2f}")
            for tag, row in zip(tags, met.kept, strict=True)
            for partner, kept in zip(tags, row, strict=True)
        ]
    }
