"""Which texts a person should look at first, with what a classifier makes of them and the words that it decides by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from salience.audit.findings import Finding
from salience.audit.words import NAME, telling_words
from salience.classify import TextClassifier
from salience.data.marks import Mark
from salience.data.splitting import stripped
from salience.data.texts import Texts
from salience.data.words import Span
from salience.errors import quoted
from salience.explainers.explain import explain_classes
from salience.explainers.explanation import Explanation
from salience.explainers.integrated import IntegratedGradients

POINTS = 2  # of integrated gradients; measured in docs/research/studies/explanations.md
RULE = (
    "Three kinds of texts take turns: those whose given label is the most improbable, those with a word that gives a "
    "label away, and those that the model is least sure of."
)


@dataclass(frozen=True)
class Doubtful:
    """A text, or a pair, that a person should look at.

    Attributes:
        texts: the text, or both texts of a pair.
        words: the characters of all words of each text.
        places: for each word of an explanation the text that it is of, 0 or 1, and its characters; see `places_of`.
        explanations: of the most probable label, with the probabilities by which the text is predicted; of a
            multi-label text then of its other predicted and given labels, too.
        predicted: the numbers of the predicted labels.
        given: the numbers of the labels in the file; None where they are not known.
        reason: why it is here, by `RULE`.
        file: that the row is of.
    """

    texts: tuple[str, ...]
    words: list[list[Span]]
    places: list[tuple[int, Span]]
    explanations: list[Explanation]
    predicted: list[int]
    given: list[int] | None
    reason: str
    file: str = ""


def most_doubtful(
    classifier: TextClassifier, texts: Texts, count: int, unseen: Mapping[tuple[str, ...], np.ndarray]
) -> list[Doubtful]:
    """So many texts, the most doubtful and the most suspicious first, by `RULE`; a text that is repeated counts once.

    Args:
        texts: N texts with labels, or without.
        unseen: the probabilities (C,) of texts by models that have not seen them, as of
            `salience.runs.results.unseen_predictions`. The classifier predicts the others.
    """
    once = sorted({key: place for place, key in reversed([*enumerate(stripped(texts))])}.values())
    texts = texts.take(once)
    probabilities = np.array([unseen.get(key, np.full(len(classifier.labels), np.nan)) for key in stripped(texts)])
    if len(others := np.flatnonzero(np.isnan(probabilities).all(1))):
        probabilities[others] = classifier.predict_proba(texts.take(others))
    decided, known = classifier.decisions(probabilities), texts.labelled
    several, right = classifier.multi_label, np.zeros_like(decided)
    if texts.labels is not None:
        right = texts.labels > 0 if several else np.arange(len(classifier.labels)) == texts.labels[:, None]
    chosen = dict[int, str]()
    for place, reason in by_turns(
        improbable_labels(probabilities, decided, right, known),
        words_that_tell(replace(texts, rows=None), np.where(known[:, None], right, decided), classifier),
        close_labels(probabilities, np.nan_to_num(classifier.thresholds, nan=0.5) if several else None),
    ):
        chosen.setdefault(place, reason)
        if len(chosen) == count:
            break
    labels = {place: [int(np.nan_to_num(probabilities[place]).argmax())] for place in chosen}
    for place, targets in labels.items() if several else ():
        targets += [label for label in np.flatnonzero(decided[place] | right[place]).tolist() if label not in targets]
    repeated = texts.take([place for place, targets in labels.items() for _ in targets])
    explanations = iter(explained(classifier, repeated, np.concatenate([*labels.values()])))
    found = []
    for place, targets in labels.items():
        own = tuple(column[place] for column in texts.columns)
        words = list(map(classifier.word_spans, own))
        of_labels = [replace(next(explanations), probabilities=probabilities[place]) for _ in targets]
        found.append(Doubtful(
            own, words, places_of(of_labels[0], own, words), of_labels, np.flatnonzero(decided[place]).tolist(),
            np.flatnonzero(right[place]).tolist() if known[place] else None, chosen[place],
            "" if texts.files is None else texts.files[place],
        ))  # fmt: skip
    return found


def by_turns(*orders: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The first of each order, the second of each, and so on."""
    return (each for turn in zip_longest(*orders) for each in turn if each is not None)


def improbable_labels(
    probabilities: np.ndarray, decided: np.ndarray, right: np.ndarray, known: np.ndarray
) -> Iterator[tuple[int, str]]:
    """The places of N texts with another label than the predicted one, those whose label is least probable first.

    Args:
        probabilities, decided, right: (N, C) of the labels, whether each is predicted, and whether it is given.
        known: (N,) whether the labels of a text are given.
    """
    wrong = known & (decided != right).any(1)
    least = np.where(right, probabilities, np.where(decided, 1 - probabilities, 1)).min(1)
    return ((int(place), "its label is improbable") for place in np.argsort(least, kind="stable") if wrong[place])


def words_that_tell(texts: Texts, labels: np.ndarray, classifier: TextClassifier) -> Iterator[tuple[int, str]]:
    """The places of texts with a word that gives one of their labels (N, C) away, the words by turns."""
    numbers = labels.astype(int) if classifier.multi_label else labels.argmax(1)

    def rows_of_word(finding: Finding) -> list[tuple[int, str]]:
        word, label = quoted(finding.details["word"]), finding.details["label"]
        return [(row - 1, f"{word} gives {label} away") for row in finding.rows]

    return by_turns(*map(rows_of_word, telling_words(replace(texts, labels=numbers), classifier.labels)))


def close_labels(probabilities: np.ndarray, thresholds: np.ndarray | None) -> Iterator[tuple[int, str]]:
    """The places of N texts, those first where two labels are close, or of several one to its threshold (C,)."""
    if thresholds is None:
        second, first = np.sort(np.nan_to_num(probabilities), 1)[:, -2:].T
        away = first - second
    else:
        room = np.where(probabilities >= thresholds, 1 - thresholds, thresholds)
        away = (np.abs(probabilities - thresholds) / np.maximum(room, 1e-12)).min(1)
    return ((int(place), "among the least certain") for place in np.argsort(away, kind="stable"))


def explained(classifier: TextClassifier, texts: Texts, targets: np.ndarray | None = None) -> list[Explanation]:
    """The explanations of N texts for the labels `targets` (N,), or each for the one that is most probable."""
    return explain_classes(classifier, replace(texts, labels=None), {NAME: IntegratedGradients(POINTS)}, targets)


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
