"""What `salience predict` adds to a file where a text can have several labels: a list, and their probabilities."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any

from salience.prediction.added_columns import AddedColumns


@dataclass(frozen=True)
class AddedLists(AddedColumns):
    """As `AddedColumns`, but the predicted labels are a list, in a table as JSON: [] if no label applies.

    `thresholds` has the probability of each label from which on it is predicted; with 1 it never is. There is no
    column of the highest probability.
    """

    @cached_property
    def names(self) -> list[str]:
        """The names of the added columns, or keys."""
        each = [f"probability_{label}" for label in self.labels] if self.as_columns else ["probabilities"]
        return [self.prefix + name for name in ["predicted", *each]]

    @property
    def limits(self) -> None:
        """None: every text is decided."""

    def named(self, probabilities: list[float] | None) -> dict[str, Any]:
        """The added values of one row by name.

        Args:
            probabilities: one for each label; None for a row without a text. NaN becomes None.
        """
        predicted: Any = None
        each: list[Any] = [None] * len(self.labels)
        if probabilities is not None and all(map(isfinite, probabilities)):
            assert self.thresholds is not None  # `Predictor.added` gives them
            each = list(probabilities)
            chosen = zip(self.labels, each, self.thresholds, strict=True)
            predicted = [label for label, probability, threshold in chosen if probability >= threshold < 1]
            if self.as_columns:
                predicted = json.dumps(predicted, ensure_ascii=False)
        if not self.as_columns:
            each = [None if probabilities is None else dict(zip(self.labels, each, strict=True))]
        return dict(zip(self.names, [predicted, *each], strict=True))
