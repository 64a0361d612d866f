"""Texts as an evaluation of explanations reads them, and the scores of their words, also by windows of long texts.

A classifier that reads windows is asked about a whole text: its words have the mean of their scores over the windows,
and a text without some of its words is a text of its own, which is divided into windows anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from salience.data.texts import Texts
from salience.data.words import Words, word_spans
from salience.explainers.corpus import explain_words
from salience.explainers.windows import explain_windows
from salience.faithfulness.explained_labels import Asked
from salience.faithfulness.reading import Reading
from salience.inference import TextClassifier


@dataclass(frozen=True, eq=False)
class WholeTexts:
    """N texts, or N pairs of texts, in the place of encoded ones, which are windows of them.

    Args:
        texts: the N texts.
        cut: (N,) bool, whether something of a text is not read.
        empty: the text that stands for one of which nothing is left.
    """

    texts: Texts
    cut: np.ndarray
    empty: str = ""

    @classmethod
    def of(cls, classifier: TextClassifier, texts: Texts) -> WholeTexts:
        """Texts as a classifier reads them."""
        tokenizer = classifier.tokenizer
        nothing = "" if tokenizer.num_special_tokens_to_add() else tokenizer.unk_token or tokenizer.pad_token
        return cls(texts, classifier.read(texts).cut_texts, nothing)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def labels(self) -> np.ndarray | None:
        """The labels of the texts; None if they are not known."""
        return self.texts.labels

    @cached_property
    def words(self) -> Words:
        """The words of the texts, which are parts of no tokens here."""
        columns = [[[text[start:end] for start, end in word_spans(text)] for text in column]
                   for column in self.texts.columns]  # fmt: skip
        names = [[word for of_column in row for word in of_column] for row in zip(*columns, strict=True)]
        second = [None if self.texts.second is None else len(first) for first in columns[0]]
        return Words(np.zeros(0, np.int32), np.array(list(map(len, names)), np.int64), names, second)

    def take(self, rows: Sequence[int] | np.ndarray) -> WholeTexts:
        """The texts at `rows`, in that order."""
        return replace(self, texts=self.texts.take(rows), cut=self.cut[np.asarray(rows, int)])

    def keeping(self, kept: np.ndarray, empty: int) -> WholeTexts:
        """The texts with some of their words, in the order of the text.

        Args:
            kept: bool, flat over the words of all texts.
            empty: as of `Encoded.keeping`; `self.empty` stands for it.
        """
        words, columns = self.words, [list[str]() for _ in self.texts.columns]
        for row, own in enumerate(np.split(kept, words.counts.cumsum()[:-1])):
            between = words.second[row]
            parts = [slice(None)] if between is None else [slice(between), slice(between, None)]
            for column, part in zip(columns, parts, strict=True):
                left = [word for word, keeps in zip(words.names[row][part], own[part], strict=True) if keeps]
                column.append(" ".join(left))
            if not own.any():
                columns[0][-1] = self.empty
        return replace(self, texts=Texts(columns[0], None if len(columns) == 1 else columns[1]))


def reading_of(classifier: TextClassifier, asked: Asked, rows: np.ndarray | None = None) -> Reading:
    """The texts of explanations as a classifier reads them, which judges them in fp32.

    Args:
        rows: the texts whose words are left out one at a time; None is all.
    """
    judge = replace(classifier, precision="fp32")

    def of_whole(whole: WholeTexts) -> np.ndarray:
        return judge.predict_proba(whole.texts)

    in_windows = classifier.long == "windows"
    texts = WholeTexts.of(classifier, asked.texts) if in_windows else classifier.encode(asked.texts, words=True)
    return Reading(
        texts, of_whole if in_windows else judge.probabilities, classifier.empty_token, rows, asked.targets,
        classifier.decisions, asked.owners,
    )  # fmt: skip


def scores_of(
    classifier: TextClassifier, asked: Asked, reading: Reading, explainer: Callable, pieces: str = "sum"
) -> list[np.ndarray]:
    """The scores of the words (W,) of each text by an explainer, in the precision of the classifier.

    Args:
        reading: of the texts by the classifier.
        pieces: how the scores of a word's tokens become the word's score, "sum" or "max".
    """
    if isinstance(reading.texts, WholeTexts):
        texts = replace(asked.texts, labels=asked.targets)
        target = "predicted" if asked.targets is None else "gold"
        return [each.scores[""] for each in explain_windows(classifier, texts, {"": explainer}, target, pieces)]
    with classifier.computing():
        return explain_words(classifier.model, reading.texts, explainer, asked.targets, pieces)
