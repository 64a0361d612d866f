"""Accuracy on corrupted test rows: with typing errors, and with words left out.

Where a text can have several labels, the ranking precision takes the place of the accuracy.
"""

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
from salience.training.scoring import OF_ONE, OF_SEVERAL, scoring_of

RATE = 0.1  # the share of words that are corrupted, on average
SEED = 0  # with the number of a row it determines its corruption: every run is tested on the same texts
NAMES = {"typos": "typing errors", "dropped-words": "words left out"}


@dataclass(frozen=True)
class Robustness:
    """The measure "robustness": the main score on the test rows with each corruption of `CORRUPTIONS`.

    It is the accuracy, or the ranking precision where a text can have several labels.
    """

    @property
    def settings(self) -> dict[str, Any]:
        """The share of words that are corrupted."""
        return {"rate": RATE}

    @property
    def columns(self) -> dict[str, Column]:
        """The scores of either kind of labels for each corruption, in percent."""
        return {
            score_on(scoring.main, name): Column(
                scoring.main_title, NAMES[name], "%", 100, True, f"{scoring.main_title} on corrupted test rows"
            )
            for scoring in (OF_ONE, OF_SEVERAL) for name in CORRUPTIONS
        }  # fmt: skip

    def __call__(self, classifier: TextClassifier, task: Task, seed: int) -> dict[str, Any]:
        """The scores, see `of_predictions`. The seed has no effect."""
        texts = self.further_texts(task.test)
        predicted = {name: classifier.predict_proba(each) for name, each in texts.items()}
        return self.of_predictions(predicted, task.test.known_labels)

    def further_texts(self, test: Texts) -> dict[str, Texts]:
        """The test rows with each corruption, the same for every run on these rows."""
        return {corruption: corrupted(test, corruption, RATE, SEED) for corruption in CORRUPTIONS}

    def of_predictions(self, probabilities: Mapping[str, np.ndarray], labels: np.ndarray) -> dict[str, Any]:
        """The scores on corrupted test rows, from 0 to 1, and the rate.

        Args:
            probabilities: corruption to the probabilities (N, C) of the rows with it.
            labels: (N,), class numbers, or (N, C) 0 and 1.

        Returns:
            "accuracy_typos", "accuracy_dropped_words", and "rate", the share of words that are corrupted; with several
            labels "ranking_precision_typos" and so on.
        """
        scoring = scoring_of(labels)
        return {
            score_on(scoring.main, name): float(scoring.row_scores(each, labels)[scoring.main].mean())
            for name, each in probabilities.items()
        } | self.settings


def score_on(score: str, corruption: str) -> str:
    """The name of a score on rows with a corruption: "accuracy_dropped_words"."""
    return f"{score}_{corruption.replace('-', '_')}"
