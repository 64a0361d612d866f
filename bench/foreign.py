"""How well a classifier knows texts of another kind from those of its own task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from salience.classify import TextClassifier
from salience.data.task import Task
from salience.data.texts import Texts
from salience.training.measures import Column

AUROC = "foreign_auroc"


@dataclass(frozen=True)
class Foreign:
    """The recognition of foreign texts by the largest probability (Hendrycks and Gimpel, arXiv:1610.02136).

    Args:
        name: of the texts, which is kept with the numbers.
        texts: texts of another task.
    """

    name: str
    texts: Texts

    @property
    def settings(self) -> dict[str, Any]:
        """Which texts are foreign, and how many."""
        return {"texts": self.name, "count": len(self.texts)}

    @property
    def columns(self) -> dict[str, Column]:
        """The area under the curve, in percent; 50 is chance."""
        return {AUROC: Column("AUROC", "foreign texts", "%", 100, True, "recognition of foreign texts")}

    def __call__(self, classifier: TextClassifier, task: Task, seed: int) -> dict[str, Any]:
        """The probability that a test row has a larger maximum than a foreign text, from 0 to 1, and the settings.

        The seed has no effect.
        """
        own, foreign = (classifier.predict_proba(texts).max(1) for texts in (task.test, self.texts))
        is_own = np.repeat([1, 0], [len(own), len(foreign)])
        return {AUROC: float(roc_auc_score(is_own, np.concatenate([own, foreign])))} | self.settings
