"""Judges that answer by rule or from a table, and erasures over them."""

from __future__ import annotations

import numpy as np

from salience.data.encoding import Encoded, Words
from salience.faithfulness.erasure import Erasure, Reading

EMPTY = 10**6  # the token of a text of which nothing is left


def texts_of(counts, labels=None) -> Encoded:
    """Texts of that many words, one token each; the token of word `i` of text `row` is 1000 * row + i."""
    ids = [1000 * row + np.arange(count) for row, count in enumerate(counts)]
    flat = np.concatenate(ids)
    names = [[str(number) for number in of_text] for of_text in ids]
    of_tokens = np.concatenate([np.arange(count) for count in counts])
    words = Words(of_tokens, np.array(counts), names, [None] * len(counts), [()] * len(counts))
    return Encoded(flat, np.ones(len(flat), int), np.array(counts, int), labels, words=words)


def by_table(without, alone=None, labels=None, words: int | None = None) -> Erasure:
    """An erasure whose judge answers from tables of probabilities (K + 1, N, C), which begin with the whole texts.

    The highest word is the first one; each text has two words more than the tables tell of, or `words`.
    """
    without = np.asarray(without, float)
    most, count = len(without) - 1, without.shape[1]
    length = most + 3 if words is None else words

    def judge(encoded) -> np.ndarray:
        answers = []
        for number in range(len(encoded)):
            ids = encoded[number]["input_ids"]
            row, first = divmod(int(ids[0]), 1000)
            removed = first > 0 or len(ids) == length
            answers.append(without[first, row] if removed else np.asarray(alone)[len(ids), row])
        return np.array(answers)

    scores = [-np.arange(float(length))] * count
    return Erasure(Reading(texts_of([length] * count, labels), judge, EMPTY), scores, most=most)


class CueJudge:
    """Class 1 with a probability of 0.9 if the text's cue is there, else of 0.2; counts its calls and texts."""

    def __init__(self, cues):
        self.cues, self.calls, self.texts = {1000 * row + place for row, place in enumerate(cues)}, 0, 0

    def __call__(self, encoded) -> np.ndarray:
        self.calls += 1
        self.texts += len(encoded)
        there = [bool(self.cues & set(encoded[row]["input_ids"].tolist())) for row in range(len(encoded))]
        return np.array([(0.1, 0.9) if cue else (0.8, 0.2) for cue in there]).reshape(-1, 2)
