"""How the predictions of several seeds are summed up: of one label for each text, or of several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from salience.comparison.label_sets import (
    chosen_labels,
    contested_labels,
    label_disagreement,
    label_reliability,
    set_in_words,
)
from salience.comparison.predictions import Bin, disagreement, majority, mean_confusion, reliability, votes


def chosen_class(probabilities: np.ndarray, row: int, names: list[str]) -> tuple[str, int]:
    """The class that most seeds predict for a test row, and their number, as `chosen_labels`."""
    of_row = probabilities[:, row : row + 1]
    number = int(majority(of_row)[0])
    return names[number], int(votes(of_row)[0, number])


@dataclass(frozen=True)
class SummingUp:
    """The functions of probabilities (S, N, C) and labels.

    Attributes:
        reliability: the bins of a reliability diagram, of labels too.
        confusion: the mean confusion matrix (C, C), of labels too; None where labels do not exclude each other.
        disagreement: how far other methods are from the baseline, for each row (N,).
        contested: the number of the label about which they differ most (N,); None where a text has one label.
        chosen: what most seeds predict for a row, in words, and the number of these seeds.
        right: the right label or labels of a row, in words, of the row's labels and all names.
    """

    reliability: Callable[[np.ndarray, np.ndarray], list[Bin]]
    confusion: Callable[[np.ndarray, np.ndarray], np.ndarray] | None
    disagreement: Callable[[np.ndarray, list[np.ndarray]], np.ndarray]
    contested: Callable[[np.ndarray, list[np.ndarray]], np.ndarray] | None
    chosen: Callable[[np.ndarray, int, list[str]], tuple[str, int]]
    right: Callable[[np.ndarray, list[str]], str]


OF_ONE = SummingUp(
    reliability, mean_confusion, disagreement, None, chosen_class, lambda label, names: names[int(label)]
)
OF_SEVERAL = SummingUp(label_reliability, None, label_disagreement, contested_labels, chosen_labels, set_in_words)


def summing_up(labels: np.ndarray) -> SummingUp:
    """The functions for labels: class numbers (N,), or 0 and 1 (N, C)."""
    return OF_SEVERAL if labels.ndim == 2 else OF_ONE
