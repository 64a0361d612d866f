"""What a trained classifier says of the rows that it was not trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from salience.inference import TextClassifier
from salience.training.preparing import Prepared


@dataclass(frozen=True)
class HeldOutPredictions:
    """The predictions of the parts "validation" and "test", of those that there are.

    Attributes:
        probabilities: (N, C) of each part.
        decided: (N, C) bool, the labels that are predicted of each part; empty where a text has one label.
    """

    probabilities: Mapping[str, np.ndarray]
    decided: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, classifier: TextClassifier, prepared: Prepared) -> HeldOutPredictions:
        """The predictions of the classifier of a run."""
        probabilities = {
            role: classifier.probabilities(encoded) for role, encoded in prepared.parts.items() if role != "training"
        }
        if not classifier.multi_label:
            return cls(probabilities)
        return cls(probabilities, {role: classifier.decisions(each) for role, each in probabilities.items()})
