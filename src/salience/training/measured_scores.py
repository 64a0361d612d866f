"""What a measure is: numbers of a trained run beside its scores on test rows, and how a comparison shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from salience.data.task import Task
from salience.data.texts import Texts
from salience.inference import TextClassifier


@dataclass(frozen=True)
class Column:
    """A number of a measure as comparisons show it.

    Attributes:
        score: what is measured, such as "accuracy".
        of: of what, such as "typing errors".
        unit: what the shown values count.
        scale: the shown value of a measured 1, such as 100 for percent.
        higher_is_better: whether a larger value is better.
        table: the title of the table that shows it.
        apart: whether that table is apart from the other scores, and shows differences from the baseline.
    """

    score: str
    of: str
    unit: str
    scale: int
    higher_is_better: bool
    table: str
    apart: bool = False

    @property
    def title(self) -> str:
        """Both names: "accuracy, typing errors"."""
        return f"{self.score}, {self.of}"

    @property
    def direction(self) -> str:
        """The unit and which values are better, in words: "%, higher is better"."""
        return f"{self.unit}, {'higher' if self.higher_is_better else 'lower'} is better"


class Measure(Protocol):
    """Measures a trained classifier. `salience.training.measures.MEASURES` is the catalogue.

    A measure that has no meaning where a text can have several labels says why, in a `one_label`.
    """

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on, as JSON holds it.

        It is kept with the numbers. A finished run with other settings is not taken for one that was measured.
        """
        ...

    @property
    def columns(self) -> dict[str, Column]:
        """The numbers that a comparison shows, by their names in metrics.json."""
        ...

    def __call__(self, classifier: TextClassifier, task: Task, seed: int) -> dict[str, Any]:
        """The numbers by name, and the settings.

        Args:
            classifier: of the run.
            task: its labelled texts; there are test rows.
            seed: of the run.
        """
        ...


@runtime_checkable
class MeasureOfPredictions(Measure, Protocol):
    """A measure for which predictions are enough. The references of a comparison have it too."""

    def further_texts(self, test: Texts) -> dict[str, Texts]:
        """Texts beside the test rows that are predicted, by name."""
        ...

    def of_predictions(self, probabilities: Mapping[str, np.ndarray], labels: np.ndarray) -> dict[str, Any]:
        """The numbers and the settings.

        Args:
            probabilities: name to the probabilities (N, C) of the texts that `further_texts` gives.
            labels: (N,), class numbers of the test rows.
        """
        ...
