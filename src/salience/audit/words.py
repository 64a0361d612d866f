"""Words and classes: which words belong to a class, which give a label away, and by which a classifier decides.

Association is gamma = (f+ - f-) / (f+ + f-) of Sun and Lu (2020), Understanding Attention for Text Classification,
doi 10.18653/v1/2020.acl-main.312, Section 5.1 and Appendix C.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from salience.audit.findings import Finding, rows_of
from salience.classify import TextClassifier
from salience.data.texts import Texts
from salience.data.words import UNSPACED
from salience.explainers.class_words import finite_scores, scores_by_word
from salience.explainers.explain import explain_texts
from salience.explainers.explanation import Explanation
from salience.explainers.integrated import IntegratedGradients
from salience.scores.labels import labels_of
from salience.training.baselines import terms
from salience.work import doing

NEUTRAL, NONE = -1, -2  # categories of words that belong to no class; the others are class indices
LEAST = 5  # a word of a class occurs more often than this in the texts of the class
GAP = 5  # the counts of a neutral word differ by less than this
GAMMA = 0.9  # smallest gamma of a word that gives a label away: 19 of 20 texts with the word have the label
SHARE = 0.1  # smallest share of the texts of the label that have the word
OF_PAIRS = 2  # times as many texts must have two words that do not give the label away by themselves
TOGETHER = 0.9  # smallest share of the texts with a word in which it stands in the phrase that takes its place
EXPLAINED, POINTS = 200, 8  # rows that are explained, and points of integrated gradients
PART = 0.2  # smallest mean part of a word that decides in the explanations of texts that have it
NAME = "integrated-gradients"
CHECK = "check whether the word belongs to what is classified"


def counts(
    texts: Sequence[np.ndarray], labels: Sequence[int] | np.ndarray, vocabulary: int, classes: int
) -> np.ndarray:
    """How often each word type occurs in the texts of each class (V, C); `texts` are the token ids (T,) of each."""
    occurrences = np.zeros((vocabulary, classes), np.int64)
    for ids, label in zip(texts, labels, strict=True):
        np.add.at(occurrences[:, label], ids, 1)
    return occurrences


def association(counted: np.ndarray) -> np.ndarray:
    """gamma = (f+ - f-) / (f+ + f-) of each type (V,), from its counts f- and f+ (V, 2); 0 without occurrences."""
    negative, positive = counted.T
    return (positive - negative) / np.maximum(positive + negative, 1)


def categories(counted: np.ndarray) -> np.ndarray:
    """The category (V,) of each type by its counts (V, C): the class that it belongs to, `NEUTRAL`, or `NONE`.

    A type belongs to a class if more than 3/4 of its occurrences, and more than 5 of them, are in texts of the class.
    For two classes this is |gamma| > 1/2, with |gamma| = 1 included: the open interval (0.5, 1) that the paper prints
    would not give the counts that it prints. The shares of a neutral type differ by less than 0.1 and its counts by
    less than 5; it may be rare.
    """
    total, largest, smallest = counted.sum(1), counted.max(1), counted.min(1)
    belongs = (4 * largest > 3 * total) & (largest > LEAST)
    neutral = (10 * (largest - smallest) < total) & (largest - smallest < GAP)  # in integers: no rounding
    return np.where(belongs, counted.argmax(1), np.where(neutral, NEUTRAL, NONE))


def category_names(labels: Sequence[str]) -> dict[int, str]:
    """Category to displayed name; of a class "neutral", the category without a class is "neutral (no class)"."""
    without_class = {NEUTRAL: "neutral", NONE: "other"}
    return dict(enumerate(labels)) | {
        category: f"{name} (no class)" if name in labels else name for category, name in without_class.items()
    }


@doing("counting words")
def telling_words(texts: Texts, labels: Sequence[str]) -> list[Finding]:
    """The words with a gamma of at least `GAMMA` that at least `SHARE` of the texts of a label, and 6 texts, have.

    A phrase takes the place of a word that hardly occurs without it. Two neighbouring words that do not give the label
    away by themselves are looked for too; twice as many texts must have them. Those with the largest share come first;
    it is the score. Gamma and log odds are those of `strength`.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    known, numbers, rows = texts.known_labels, rows_of(texts), list(zip(*texts.columns, strict=True))
    having = labels_of(known).right(known, len(labels))  # (N, C)
    counter = CountVectorizer(binary=True, min_df=LEAST + 1, analyzer=words_and_pairs)
    try:
        columns = counter.fit_transform(rows).tocsc()
    except ValueError:  # no word is in so many texts
        return []
    names = [str(name).split(" ") for name in counter.get_feature_names_out()]
    pairs = np.array([len(parts) > 1 for parts in names])
    counted, total = columns.T @ having.astype(np.int64), np.asarray(columns.sum(0)).ravel()  # (V, C) and (V,)
    found = []
    for label, (own, size) in enumerate(zip(counted.T, having.sum(0), strict=True)):
        gamma, _ = strength(own, total, int(size), len(texts))
        telling = (gamma >= GAMMA) & (own > LEAST * OF_PAIRS**pairs) & (own >= SHARE * size * OF_PAIRS**pairs)
        alone = {names[word][0]: total[word] for word in np.flatnonzero(telling & ~pairs)}
        phrases: dict[str, list[int]] = {}  # the places of the texts that have each
        for word in np.flatnonzero(telling):
            if pairs[word] and alone.keys() & names[word]:  # found from its word
                continue
            places = np.sort(columns.indices[columns.indptr[word] : columns.indptr[word + 1]]).tolist()
            phrase, those = phrase_around(names[word], {place: words_of(rows[place]) for place in places})
            weaker = strength(having[those, label].sum(), len(those), int(size), len(texts))[0] < gamma[word]
            if weaker or any(len(those) < TOGETHER * alone.get(part, 0) for part in phrase):
                phrase, those = names[word], places
            phrases[written(phrase)] = those
        for name, places in phrases.items():
            its = [place for place in places if having[place, label]]
            its_gamma, odds = strength(len(its), len(places), int(size), len(texts))
            details = {
                "word": name, "label": labels[label], "gamma": round(float(its_gamma), 6),
                "log_odds": round(float(odds), 6),
            }  # fmt: skip
            finding = Finding("word", [numbers[place] for place in its], CHECK, float(len(its) / size), details)
            found.append(((-finding.score, -its_gamma, name), finding))
    return [finding for _, finding in sorted(found, key=lambda each: each[0])]


def strength(own: Any, total: Any, size: int, texts: int) -> tuple[Any, Any]:
    """Gamma, and log odds, of words that `total` of N texts have, `own` of them among the `size` texts of a label.

    Gamma is that of the label against all texts without it, and counts texts, not occurrences: it is the smaller one
    of that of the texts as they are and of that of as many texts with the label as without. The latter keeps a class
    that has nearly all texts from owning nearly all words. The log odds are ln of the odds of the word in texts of the
    label, minus that in others; 1/2 is added to counts.
    """
    both, sizes = np.stack([total - own, own], -1), np.array([texts - size, size])
    gamma = np.minimum(association(both), association(both / np.maximum(sizes, 1) * texts))
    odds = np.log((both + 0.5) / (sizes - both + 0.5))
    return gamma, odds[..., 1] - odds[..., 0]


def words_of(row: Sequence[str]) -> list[str]:
    """The words and signs of a text, or of both texts of a pair, in lower case, with an empty one around each text."""
    return ["", *(word for text in row for word in (*terms(text.lower()), ""))]


def words_and_pairs(row: Sequence[str]) -> list[str]:
    """The words and signs of a text, or of both of a pair, and each two words between which there is no sign."""
    words = words_of(row)
    pairs = (f"{one} {other}" for one, other in pairwise(words) if one[:1].isalnum() and other[:1].isalnum())
    return [*filter(None, words), *pairs]


def phrase_around(words: list[str], texts: Mapping[int, list[str]]) -> tuple[list[str], list[int]]:
    """The longest phrase that has some neighbouring words in `TOGETHER` of the texts with them; and its texts."""
    having = list(texts)
    while True:
        longer: dict[tuple[str, ...], dict[int, None]] = defaultdict(dict)
        for place in having:
            own, count = texts[place], len(words)
            for start in range(1, len(own) - count):
                if own[start : start + count] == words:
                    for phrase in (own[start - 1 : start + count], own[start : start + count + 1]):
                        if all(word[:1].isalnum() for word in phrase):
                            longer[tuple(phrase)][place] = None
        most = max(longer, key=lambda phrase: len(longer[phrase]), default=())
        if len(longer[most]) < TOGETHER * len(texts):
            return words, having
        words, having = list(most), list(longer[most])


def written(words: Sequence[str]) -> str:
    """A phrase as it stands in a text."""
    parted = ("" if UNSPACED.search(one) and UNSPACED.search(other) else " " for one, other in pairwise(words))
    return "".join(part for word, space in zip(words, (*parted, ""), strict=True) for part in (word, space))


def explained_rows(classifier: TextClassifier, texts: Texts, seed: int) -> Iterable[Explanation]:
    """The explanations of at most `EXPLAINED` of N labelled texts, sampled at random, for their own labels."""
    drawn = np.sort(np.random.default_rng(seed).permutation(len(texts))[:EXPLAINED])
    return explain_texts(classifier, texts.take(drawn), {NAME: IntegratedGradients(POINTS)}, target="gold")


def deciding_words(explanations: Iterable[Explanation], labels: Sequence[str]) -> list[Finding]:
    """The words with a mean part of at least `PART` that at least `SHARE` of the texts of a label, and 6 texts, have.

    The part of a word in a text is its score, divided by the sum of the absolute scores of all words of the text; the
    mean over the texts of the label that have the word is the score of the finding. The largest come first.
    """
    texts: dict[int, int] = defaultdict(int)
    parts: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
    for explanation in explanations:
        assert explanation.row is not None
        texts[explanation.target] += 1
        whole = float(np.abs(finite_scores(explanation, NAME)).sum()) or 1.0
        for word, score in scores_by_word(explanation, NAME).items():
            parts[word, explanation.target][explanation.row] = score / whole
    means = {
        key: float(np.mean([*own.values()]))
        for key, own in parts.items() if len(own) > LEAST and len(own) >= SHARE * texts[key[1]]
    }  # fmt: skip
    return [
        Finding(
            "deciding_word", sorted(parts[word, label]), CHECK, part,
            {"word": word, "label": labels[label], "share": round(len(parts[word, label]) / texts[label], 6)},
        )
        for (word, label), part in sorted(means.items(), key=lambda each: (-each[1], each[0])) if part >= PART
    ]  # fmt: skip
