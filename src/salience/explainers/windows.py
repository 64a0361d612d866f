"""Explanations of texts that are read in windows: each window is explained, and a word has the mean of its scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from salience.data.long_texts import Passages
from salience.data.texts import Texts
from salience.data.words import word_spans
from salience.explainers.explanation import Explanation
from salience.explainers.explanations import explain_at_once, explained_classes, gold_of
from salience.inference import TextClassifier


def explain_windows(
    classifier: TextClassifier, texts: Texts, explainers: Mapping[str, Callable], target: int | str, pieces: str
) -> list[Explanation]:
    """The explanations of N texts by a classifier that reads windows, each of the same class in all its windows.

    The score of a word in a window is that of the window's own log probability. The mean over the windows of a word
    does not depend on how often the word is read.

    Args:
        explainers, target, pieces: as of `salience.explainers.explanations.explain_texts`.
    """
    probabilities = classifier.predict_proba(texts)
    gold = gold_of(texts)
    targets = probabilities.argmax(1) if target == "predicted" else explained_classes(target, texts)
    found = classifier.passages(texts)
    asked = replace(found.texts, labels=targets[found.owners])
    of_windows = explain_at_once(classifier, asked, explainers, "gold", pieces)
    explanations = []
    for number in range(len(texts)):
        of_columns = [[text[number][start:end] for start, end in word_spans(text[number])] for text in texts.columns]
        words = [word for of_column in of_columns for word in of_column]
        second = None if texts.second is None else len(of_columns[0])
        own = np.flatnonzero(found.owners == number).tolist()
        scores = {
            name: mean_scores(
                len(words), [part for each in own for part in placed(found, each, of_windows[each], name, second)]
            )
            for name in explainers
        }
        explanations.append(
            Explanation(
                words, second, classifier.labels, probabilities[number], int(targets[number]), gold[number], scores,
                row=None if texts.rows is None else texts.rows[number],
                cut=bool(found.shortened[number]) or any(of_windows[window].cut for window in own),
            )
        )  # fmt: skip
    return explanations


def placed(
    found: Passages, window: int, explanation: Explanation, name: str, second: int | None
) -> list[tuple[int, np.ndarray]]:
    """The scores of the words of a window, behind the number of the first of these words: of either text of a pair.

    Args:
        window: its number among the passages.
        explanation: of the window.
        name: of the explainer.
        second: the number of the first word of the second text of the whole pair; None for a single text.
    """
    scores, first = explanation.scores[name], int(found.first_words[window])
    if second is None or found.second_words is None:
        return [(first, scores)]
    divided = explanation.second
    return [(first, scores[:divided]), (second + int(found.second_words[window]), scores[divided:])]


def mean_scores(words: int, windows: list[tuple[int, np.ndarray]]) -> np.ndarray:
    """The mean score of each word (W,) over the windows that it is in; 0 for a word of which nothing is read.

    Args:
        words: their number W.
        windows: of each window the number of its first word, and the scores of its words.
    """
    total, count = np.zeros(words), np.zeros(words)
    for first, scores in windows:
        total[first : first + len(scores)] += scores
        count[first : first + len(scores)] += 1
    return total / np.maximum(count, 1)
