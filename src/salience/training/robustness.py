"""Accuracy on corrupted test rows: with typing errors, and with words left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from salience.data.corruptions import CORRUPTIONS, corrupted
from salience.data.task import Task
from salience.data.texts import Texts
from salience.inference import TextClassifier
from salience.training.measured_scores import Column

RATE = 0.1  # the share of words that are corrupted, on average
SEED = 0  # with the number of a row it determines its corruption: every run is tested on the same texts
SCORES = {corruption: f"accuracy_{corruption.replace('-', '_')}" for corruption in CORRUPTIONS}
NAMES = {"typos": "typing errors", "dropped-words": "words left out"}


@dataclass(frozen=True)
class Robustness:
    """The measure "robustness": accuracy on the test rows with each corruption of `CORRUPTIONS`."""

    @property
    def settings(self) -> dict[str, Any]:
        """The share of words that are corrupted."""
        return {"rate": RATE}

    @property
    def columns(self) -> dict[str, Column]:
        """An accuracy for each corruption, in percent."""
        table = "accuracy on corrupted test rows"
        return {SCORES[name]: Column("accuracy", NAMES[name], "%", 100, True, table) for name in CORRUPTIONS}

    def __call__(self, classifier: TextClassifier, task: Task, seed: int) -> dict[str, Any]:
        """The accuracies, see `of_predictions`. The seed has no effect."""
        texts = self.further_texts(task.test)
        predicted = {name: classifier.predict_proba(each) for name, each in texts.items()}
        return self.of_predictions(predicted, task.test.known_labels)

    def further_texts(self, test: Texts) -> dict[str, Texts]:
        """The test rows with each corruption, the same for every run on these rows."""
        return {corruption: corrupted(test, corruption, RATE, SEED) for corruption in CORRUPTIONS}

    def of_predictions(self, probabilities: Mapping[str, np.ndarray], labels: np.ndarray) -> dict[str, Any]:
        """The accuracies on corrupted test rows, from 0 to 1, and the rate.

        Args:
            probabilities: corruption to the probabilities (N, C) of the rows with it.
            labels: (N,), class numbers.

        Returns:
            "accuracy_typos", "accuracy_dropped_words", and "rate", the share of words that are corrupted.
        """
        return {
            SCORES[name]: float((each.argmax(1) == labels).mean()) for name, each in probabilities.items()
        } | self.settings
