"""Words and classes: which words belong to a class, which give a label away, and by which a classifier decides.

Association is gamma = (f+ - f-) / (f+ + f-) of Sun and Lu (2020), Understanding Attention for Text Classification,
doi 10.18653/v1/2020.acl-main.312, Section 5.1 and Appendix C.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from salience.audit.findings import Finding, rows_of
from salience.classify import TextClassifier
from salience.data.texts import Texts
from salience.explainers.class_words import finite_scores, scores_by_word
from salience.explainers.explain import explain_texts
from salience.explainers.explanation import Explanation
from salience.explainers.integrated import IntegratedGradients
from salience.scores.labels import labels_of
from salience.training.baselines import joined, terms
from salience.work import doing

NEUTRAL, NONE = -1, -2  # categories of words that belong to no class; the others are class indices
LEAST = 5  # a word of a class occurs more often than this in the texts of the class
GAP = 5  # the counts of a neutral word differ by less than this
GAMMA = 0.9  # smallest gamma of a word that gives a label away: 19 of 20 texts with the word have the label
SHARE = 0.1  # smallest share of the texts of the label that have the word
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

    Those with the largest share come first; it is the score. Gamma is that of one label against all texts without it,
    and counts texts, not occurrences: it is the smaller one of that of the texts as they are and of that of as many
    texts with the label as without. The latter keeps a class that has nearly all texts from owning nearly all words.
    The log odds are ln of the odds of the word in texts of the label, minus that in others; 1/2 is added to counts.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    known, rows = texts.known_labels, rows_of(texts)
    having = labels_of(known).right(known, len(labels))  # (N, C)
    words = CountVectorizer(binary=True, tokenizer=terms, token_pattern=None)  # as of the TF-IDF baseline
    try:
        columns = words.fit_transform(joined(texts)).tocsc()
    except ValueError:  # no text has a word
        return []
    names = words.get_feature_names_out()
    counted, total = columns.T @ having.astype(np.int64), np.asarray(columns.sum(0)).ravel()  # (V, C) and (V,)
    found = []
    for label, (own, size) in enumerate(zip(counted.T, having.sum(0), strict=True)):
        both, sizes = np.stack([total - own, own], 1), np.array([len(texts) - size, size])
        gamma = np.minimum(association(both), association(both / np.maximum(sizes, 1) * len(texts)))
        odds = np.log((both + 0.5) / (sizes - both + 0.5))
        for word in np.flatnonzero((gamma >= GAMMA) & (own > LEAST) & (own >= SHARE * size)):
            places = columns.indices[columns.indptr[word] : columns.indptr[word + 1]]
            details = {
                "word": str(names[word]), "label": labels[label], "gamma": round(float(gamma[word]), 6),
                "log_odds": round(float(odds[word, 1] - odds[word, 0]), 6),
            }  # fmt: skip
            its_rows = [rows[place] for place in sorted(places[having[places, label]].tolist())]
            finding = Finding("word", its_rows, CHECK, float(own[word] / size), details)
            found.append(((-finding.score, -gamma[word], details["word"]), finding))
    return [finding for _, finding in sorted(found, key=lambda each: each[0])]


def explained_rows(classifier: TextClassifier, texts: Texts, seed: int) -> Iterable[Explanation]:
    """The explanations of at most `EXPLAINED` of N labelled texts, drawn at random, for their own labels."""
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
