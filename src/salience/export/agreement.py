"""How far an exported classifier agrees with the original on given texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from salience.data.texts import Texts
from salience.inference import TextClassifier
from salience.models.problem import Problem

ENOUGH = 0.99  # share of texts with the same label, or set of labels


@dataclass(frozen=True)
class Agreement:
    """What an exported classifier predicts, beside the original.

    Args:
        texts: number of texts.
        changed: number of texts whose label, or set of labels, is another one.
        largest: largest difference of a probability.
        accuracy: the share of texts whose answer is right, of the original and of the export; None if no label is
            known. Where a text can have several labels, all of them must be right.
        problem: what an answer is, for messages.
    """

    texts: int
    changed: int
    largest: float
    accuracy: tuple[float, float] | None
    problem: Problem

    @property
    def share(self) -> float:
        """The share of texts with the same answer."""
        return 1 - self.changed / self.texts

    @property
    def is_enough(self) -> bool:
        """Whether the answers to at least 99 % of the texts are the same. Probabilities that are NaN never are."""
        return self.share >= ENOUGH and self.largest <= 1

    def __str__(self) -> str:
        what = self.problem.answer if self.texts == 1 else self.problem.answers
        line = (
            f"{self.changed:,} of {self.texts:,} {what} changed ({self.share:.2%} agree), largest difference "
            f"of a probability {self.largest:.2g}"
        )
        if self.accuracy is None:
            return line
        return line + ", {} {:.4f} instead of {:.4f}".format(self.problem.accuracy, *self.accuracy[::-1])

    def as_json(self) -> dict[str, Any]:
        """The values as they are written to a file."""
        values: dict[str, Any] = {
            "texts": self.texts, f"{self.problem.answers} changed": self.changed,
            "largest difference of a probability": self.largest,
        }  # fmt: skip
        if self.accuracy is not None:
            values[self.problem.accuracy] = dict(zip(("original", "export"), self.accuracy, strict=True))
        return values


def agreement(original: TextClassifier, exported: TextClassifier, texts: Texts) -> Agreement:
    """Predicts N texts, one or more, with both classifiers. The original computes in float32."""
    encoded = original.read(texts)
    probabilities = [classifier.probabilities(encoded) for classifier in (original, exported)]
    before, after = (original.decisions(each) for each in probabilities)
    return Agreement(
        texts=len(texts), changed=int((before != after).any(1).sum()),
        largest=float(abs(probabilities[0] - probabilities[1]).max()),
        accuracy=accuracies(original.problem, texts, before, after), problem=original.problem,
    )  # fmt: skip


def accuracies(problem: Problem, texts: Texts, before: np.ndarray, after: np.ndarray) -> tuple[float, float] | None:
    """The accuracy of two classifiers on the texts whose labels are known; None if there are none.

    Args:
        before, after: (N, C) bool, the labels that are predicted.
    """
    known = texts.labelled
    if not known.any():
        return None
    right = problem.right(texts.known_labels, before.shape[1])
    first, second = (float((each == right).all(1)[known].mean()) for each in (before, after))
    return first, second
