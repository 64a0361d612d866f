"""Which classes are taken for which."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class ConfusedPair(NamedTuple):
    """Rows of one class that are predicted as another one.

    Attributes:
        label: the class number of the rows.
        predicted: the class number that is predicted.
        rows: how many such rows there are; their mean number, where several runs are counted together.
        of: how many rows the class has.
    """

    label: int
    predicted: int
    rows: float
    of: float


def confused_pairs(confusion: np.ndarray, most: int) -> list[ConfusedPair]:
    """The pairs of different classes with the largest numbers of rows, the largest first, at most `most` of them.

    Args:
        confusion: (C, C) rows by label (rows) and prediction (columns), as of `sklearn.metrics.confusion_matrix`.
    """
    wrong = confusion - np.diag(np.diag(confusion))
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    return [
        ConfusedPair(row, column, wrong[row, column].item(), confusion[row].sum().item())
        for row, column in (divmod(int(place), len(confusion)) for place in order)
        if wrong[row, column]
    ]
