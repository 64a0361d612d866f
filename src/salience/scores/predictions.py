"""What classifiers say about labelled rows, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from salience.scores.labels import labels_of


@dataclass(frozen=True)
class Predictions:
    """The predictions for N labelled rows: held out, out of fold, of a comparison, or of an audit.

    Attributes:
        probabilities: (N, C) float.
        labels: (N,) class numbers; or (N, C), 0 and 1, where texts are multi-label.
        decided: (N, C) bool, the labels that are predicted, where thresholds decide: always if multi-label; else None.
        groups: (N,) the number of the group of each row; None for rows that are independent.
        folds: (N,) the fold of each row, from 1 on, whose model was not trained on it; None if one model predicts all.
        rows: (N,) the number of each row in its file, from 1 on; None where it is not known.
    """

    probabilities: np.ndarray
    labels: np.ndarray
    decided: np.ndarray | None = None
    groups: np.ndarray | None = None
    folds: np.ndarray | None = None
    rows: np.ndarray | None = None

    def __post_init__(self) -> None:
        shape = self.probabilities.shape
        if len(shape) != 2 or self.probabilities.dtype.kind != "f":
            raise ValueError("the probabilities are no numbers for each row and label")
        if self.labels.shape not in (shape[:1], shape) or self.labels.dtype.kind not in "iub":
            raise ValueError("there is not a label for each row")
        highest = shape[1] if self.labels.ndim == 1 else 2
        if not ((self.labels >= 0) & (self.labels < highest)).all():
            raise ValueError("a label has no number")
        if self.decided is not None and self.decided.shape != shape:
            raise ValueError("there is not a decision for each row and label")
        for name in ("groups", "folds", "rows"):
            values = getattr(self, name)
            if values is not None and values.shape != shape[:1]:
                raise ValueError(f"the {name} are not one for each row")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def predicted(self) -> np.ndarray:
        """The predicted classes (N,), where a text has one: the most probable ones, unless a threshold decides."""
        return self.probabilities.argmax(1) if self.decided is None else self.decided.argmax(1)

    @property
    def decisions(self) -> np.ndarray:
        """Whether each row gets each label (N, C) bool; where a text has one label, the most probable one."""
        if self.decided is not None:
            return self.decided
        return self.predicted[:, None] == np.arange(self.probabilities.shape[1])

    def scores(self, seed: int = 0) -> dict[str, Any]:
        """The scores by their names in metrics.json, two of them with intervals; `seed` is that of their bootstrap."""
        scoring = labels_of(self.labels)
        return scoring.with_intervals(self.probabilities, self.labels, self.groups, seed, self.decided)
