"""Which texts a person should look at first, with what a classifier makes of them and the words that it decides by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest

import numpy as np

from salience.audit.words import NAME
from salience.classify import TextClassifier
from salience.data.marks import Mark
from salience.data.splitting import stripped
from salience.data.texts import Texts
from salience.data.words import Span
from salience.explainers.explain import explain_classes
from salience.explainers.explanation import Explanation
from salience.explainers.integrated import IntegratedGradients

POINTS = 2  # of integrated gradients; docs/report.md has the measurement
RULE = (
    "The texts are in the order of the largest of three numbers from 0 to 1: how close the two most probable labels "
    "are, how improbable the given label is, and how much more than an even share of the explanation one word has."
)
RULE_OF_SEVERAL = (
    "The texts are in the order of the largest of three numbers from 0 to 1: how close a label is to its threshold, "
    "how improbable it is that a given label applies, or that another one does not, and how much more than an even "
    "share of the explanation one word has."
)


@dataclass(frozen=True)
class Doubtful:
    """A text, or a pair, that a person should look at.

    Attributes:
        texts: the text, or both texts of a pair.
        words: the characters of all words of each text.
        places: for each word of the explanation the text that it is of, 0 or 1, and its characters; see `places_of`.
        explanation: of the most probable label, with the probabilities by which the text is predicted.
        predicted: the numbers of the predicted labels.
        given: the numbers of the labels in the file; None where they are not known.
        doubt: from 0 to 1, by `RULE`.
        file: that the row is of.
    """

    texts: tuple[str, ...]
    words: list[list[Span]]
    places: list[tuple[int, Span]]
    explanation: Explanation
    predicted: list[int]
    given: list[int] | None
    doubt: float
    file: str = ""


def most_doubtful(
    classifier: TextClassifier, parts: Iterable[Texts], count: int, unseen: Mapping[tuple[str, ...], np.ndarray]
) -> list[Doubtful]:
    """So many texts, the most doubtful and the most suspicious first, by `RULE`; a text that is repeated counts once.

    Args:
        parts: texts with or without labels, explained a part at a time.
        unseen: the probabilities (C,) of texts by models that have not seen them, as of
            `salience.runs.results.unseen_predictions`. The classifier predicts the others.
    """
    return nlargest(count, doubtful_texts(classifier, parts, unseen), key=lambda each: each.doubt)


def doubtful_texts(
    classifier: TextClassifier, parts: Iterable[Texts], unseen: Mapping[tuple[str, ...], np.ndarray]
) -> Iterator[Doubtful]:
    """All texts of the parts, in their order, without repetitions."""
    met, thresholds = set[int](), np.nan_to_num(classifier.thresholds, nan=0.5)
    for part in parts:
        new = {hash(key): place for place, key in reversed([*enumerate(stripped(part))])}
        fresh = part.take(sorted(place for key, place in new.items() if key not in met))
        met.update(new)
        if not len(fresh):
            continue
        known, keys = fresh.labelled, stripped(fresh)
        by_itself = {} if unseen.keys() >= set(keys) else dict(zip(keys, classifier.predict_proba(fresh), strict=True))
        probabilities = np.array([unseen[key] if key in unseen else by_itself[key] for key in keys])
        decided = classifier.decisions(probabilities)
        explanations = explained(classifier, fresh, probabilities.argmax(1))
        for row, each in enumerate(explanations):
            explanation = replace(each, probabilities=probabilities[row])
            given = None
            if known[row]:
                label = fresh.known_labels[row]
                given = np.flatnonzero(label).tolist() if classifier.multi_label else [int(label)]
            texts = tuple(column[row] for column in fresh.columns)
            words = list(map(classifier.word_spans, texts))
            yield Doubtful(
                texts, words, places_of(explanation, texts, words), explanation, np.flatnonzero(decided[row]).tolist(),
                given, doubt_of(explanation, given, thresholds if classifier.multi_label else None),
                "" if fresh.files is None else fresh.files[row],
            )  # fmt: skip


def explained(classifier: TextClassifier, texts: Texts, targets: np.ndarray | None = None) -> list[Explanation]:
    """The explanations of N texts for the labels `targets` (N,), or each for the one that is most probable."""
    return explain_classes(classifier, replace(texts, labels=None), {NAME: IntegratedGradients(POINTS)}, targets)


def doubt_of(explanation: Explanation, given: Sequence[int] | None, thresholds: np.ndarray | None = None) -> float:
    """How doubtful a text is, from 0 to 1, by `RULE`; with the `thresholds` (C,) of labels, by `RULE_OF_SEVERAL`."""
    found = np.nan_to_num(np.asarray(explanation.probabilities, float))
    if thresholds is None:
        second, first = np.sort(found)[-2:]
        numbers = [1 - (first - second), 0 if given is None else 1 - found[given[0]]]
    else:
        room = np.where(found >= thresholds, 1 - thresholds, thresholds)
        right = np.isin(np.arange(len(found)), given or [])
        numbers = [
            1 - (np.abs(found - thresholds) / np.maximum(room, 1e-12)).min(),
            0 if given is None else np.where(right, 1 - found, found).max(),
        ]
    shares = np.abs(np.nan_to_num(explanation.scores[NAME]))
    if len(shares) > 1 and (whole := shares.sum()) > 0:
        even = 1 / len(shares)
        numbers.append((shares.max() / whole - even) / (1 - even))
    return float(max(numbers))


def places_of(
    explanation: Explanation, texts: Sequence[str], words_of_texts: Sequence[Sequence[Span]]
) -> list[tuple[int, Span]]:
    """Where the words of an explanation are in its text, or in both texts of a pair, by all words of these.

    Of a text that was cut, these are its first words, or its first and its last ones.
    """
    words, second = explanation.words, explanation.second
    of_texts = [words] if second is None else [words[:second], words[second:]]
    found = []
    for number, (text, whole, own) in enumerate(zip(texts, words_of_texts, of_texts, strict=True)):
        read = [(text[slice(*span)], word) for span, word in zip(whole, own, strict=False)]
        head = next((place for place, (one, other) in enumerate(read) if one != other), len(read))
        tail = len(whole) - (len(own) - head)
        found += [(number, span) for span in [*whole[:head], *whole[max(tail, head) :]]]
    return found


def share_on(explanation: Explanation, places: Sequence[tuple[int, Span]], marks: Sequence[Mark]) -> float | None:
    """The share of the absolute scores of an explanation on marked words; None without marks, or without scores."""
    scores = np.abs(np.nan_to_num(explanation.scores[NAME]))
    on = [
        any(mark.second == (text == 1) and mark.start < end and start < mark.end for mark in marks)
        for text, (start, end) in places
    ]
    whole = float(scores.sum())
    return float(scores[: len(on)][on].sum()) / whole if marks and whole else None
