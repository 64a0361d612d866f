"""Are the words found that people have marked? (Rei and Søgaard, NAACL 2018, arXiv:1805.02214; VAT, Table 5.)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from salience.data.marks import MARKED, Mark, overlap
from salience.data.texts import Texts
from salience.data.words import Spans
from salience.faithfulness.erasure import Erasure

if TYPE_CHECKING:
    from salience.data.encoding import Words


def detection_f1(erasure: Erasure, k: int) -> np.ndarray:
    """F1 (N,), in percent, of the `k` top words against the marked ones; NaN where nothing is marked."""
    if erasure.marked is None:
        raise ValueError("the metric needs the words that are marked")
    return 100 * detection(erasure.scores, erasure.marked, k)[:, 2]


def detection(scores: Sequence[np.ndarray], marked: Sequence[Sequence[int]], k: int) -> np.ndarray:
    """Precision, recall and F1 (N, 3), from 0 to 1, of the `k` top words against those that a person has marked.

    NaN where nothing is marked. They are meant to be averaged over texts, F1 too: the mean F1 is not the harmonic
    mean of mean precision and mean recall.
    """
    values = np.full((len(scores), 3), np.nan)
    for row, (words, gold) in enumerate(zip(scores, marked, strict=True)):
        if len(gold):
            chosen = np.argsort(-words, kind="stable")[:k]
            right = len(np.intersect1d(chosen, gold))
            precision, recall = right / max(len(chosen), 1), right / len(set(gold))
            values[row] = precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0
    return values


def detection_by_class(
    scores: Sequence[np.ndarray],
    marked: Sequence[Sequence[int]],
    gold: Sequence[str],
    classes: Sequence[str],
    k: int,
) -> dict[str, dict[str, float]]:
    """Precision, recall and F1 at 1 and at `k` words, in percent, for each class (Zhou et al., 2021, Table 5).

    The means are over the texts of a class, by the labels `gold`, in which a word is marked, by the numbers of the
    words; classes without such a text are left out. The values are named "P@1", "R@1", "F1@1", "P@k", "R@k", "F1@k".
    """
    table = {}
    for name in classes:
        rows = [row for row, words in enumerate(marked) if words and gold[row] == name]
        if rows:
            of_class = [scores[row] for row in rows], [marked[row] for row in rows]
            table[name] = {
                f"{short}@{count}": 100 * float(values.mean())
                for count in dict.fromkeys((1, k))
                for short, values in zip(("P", "R", "F1"), detection(*of_class, count).T, strict=True)
            }
    return table


def marked_words(texts: Texts, labels: Sequence[str], words: Words, spans: Spans) -> list[list[int]]:
    """The numbers of the words of each text that have a character in common with a mark, which counts for its label.

    `texts.marks` are `Mark`s, `words` those that are read of the texts. Words behind them have numbers behind theirs.
    """
    found = []
    for row, (label, marks, *columns) in enumerate(zip(labels, texts.marks or [], *texts.columns, strict=True)):
        own = [mark for mark in marks if mark.name in (label, MARKED)]
        count, second = int(words.counts[row]), words.second[row]
        firsts = [0, count if second is None else second, count]  # the numbers that the words of each text begin with
        numbers = list[int]()
        for part, text in enumerate(columns if own else ()):
            of_text = [Mark(*span, second=part > 0) for span in spans(text)]
            read = firsts[part + 1] - firsts[part]
            for number, word in enumerate(of_text):
                if overlap([word], own) is not None:
                    numbers.append(firsts[part] + number if number < read else count + len(numbers))
        found.append(numbers)
    return found


def mean_detection(draws: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    return {
        name: {metric: float(np.mean([draw[name][metric] for draw in draws])) for metric in values}
        for name, values in draws[0].items()
    }
