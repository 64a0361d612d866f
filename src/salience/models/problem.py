"""What the logits of a classifier mean: one label for a text, or each label by itself.

`config.problem_type` says which, by the names of transformers, whose pipelines thus read a checkpoint in the same way.
With one label the probabilities are the softmax of the logits. With several, the probability of each label is the
sigmoid of its logit, and the labels are independent of each other given the text. What a classifier decides is (N, C)
bool in both cases: with one label, one column of each row is True.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from salience.errors import InputError
from salience.hooks.stages import unwrapped
from salience.settings import is_number

ONE, SEVERAL = "single_label_classification", "multi_label_classification"


@dataclass(frozen=True)
class OneLabel:
    """A text has one of C labels.

    Attributes:
        answer, answers: what a classifier says of a text and of several, for messages.
        accuracy: the name of the share of texts whose answer is right.
    """

    name: str = ONE
    answer: ClassVar[str] = "label"
    answers: ClassVar[str] = "labels"
    accuracy: ClassVar[str] = "accuracy"

    def log_probabilities(self, logits: Tensor) -> Tensor:
        """ln p of each label (B, C) from logits (B, C)."""
        return logits.log_softmax(1)

    def probabilities(self, logits: Tensor) -> Tensor:
        """The probabilities (B, C) of logits (B, C); rows sum to 1."""
        return logits.softmax(1)

    def log_likelihood(self, logits: Tensor, labels: Tensor) -> Tensor:
        """ln p(label) of each text (B,), from logits (B, C) and class numbers (B,)."""
        return -F.cross_entropy(logits, labels, reduction="none")

    def decisions(self, probabilities: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """The labels that are predicted (..., C) bool: the most probable one of C, whatever the thresholds are.

        Args:
            probabilities: (..., C).
        """
        return np.arange(probabilities.shape[-1]) == probabilities.argmax(-1)[..., None]

    def right(self, labels: np.ndarray, classes: int) -> np.ndarray:
        """The labels that are right (N, C) bool, from class numbers (N,); none where a label is `UNKNOWN`."""
        return np.arange(classes) == labels[:, None]


@dataclass(frozen=True)
class SeveralLabels:
    """A text has any number of C labels, none included. Attributes as of `OneLabel`."""

    name: str = SEVERAL
    answer: ClassVar[str] = "set of labels"
    answers: ClassVar[str] = "sets of labels"
    accuracy: ClassVar[str] = "subset accuracy"

    def log_probabilities(self, logits: Tensor) -> Tensor:
        """ln p of each label (B, C) from logits (B, C)."""
        return F.logsigmoid(logits)

    def probabilities(self, logits: Tensor) -> Tensor:
        """The probabilities (B, C) of logits (B, C), each for itself."""
        return logits.sigmoid()

    def log_likelihood(self, logits: Tensor, labels: Tensor) -> Tensor:
        """ln p of each text (B,), from logits (B, C) and labels.

        Args:
            labels: class numbers (B,), for ln p of this label alone; or 0 and 1 (B, C), for ln p of all labels:
                sum_c y_c ln p_c + (1 - y_c) ln (1 - p_c).
        """
        if labels.dim() == 1:
            return F.logsigmoid(logits).gather(1, labels[:, None])[:, 0]
        return -F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype), reduction="none").sum(1)

    def decisions(self, probabilities: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """The labels that are predicted (..., C) bool: those whose probability is at least their threshold.

        Args:
            probabilities: (..., C).
            thresholds: (C,) of the labels. With 1 a label is never predicted.
        """
        return (probabilities >= thresholds) & (thresholds < 1)  # a sigmoid can be 1 in floating point

    def right(self, labels: np.ndarray, classes: int) -> np.ndarray:
        """The labels that are right (N, C) bool, from 0 and 1 (N, C); none in rows where they are `UNKNOWN`."""
        return labels == 1


Problem = OneLabel | SeveralLabels


def is_multi_label(config: Any) -> bool:
    """Whether a configuration of transformers is that of a classifier of several labels for a text."""
    return getattr(config, "problem_type", None) == SEVERAL


def problem_in(config: Any) -> Problem:
    """The problem that a configuration of transformers names; `OneLabel` if it does not say."""
    return SeveralLabels() if is_multi_label(config) else OneLabel()


def problem_of(model: nn.Module) -> Problem:
    """The problem that a classifier solves; `OneLabel` if its configuration does not say."""
    return problem_in(getattr(unwrapped(model), "config", None))


# The probabilities from which on labels are predicted, as the configuration of a model has them.

HALF = 0.5  # threshold of a label that has no other


def thresholds_in(config: Any, labels: Sequence[str]) -> np.ndarray:
    """The `label_thresholds` of a configuration (C,) float64, one for each label; `HALF` where it has none.

    They are of texts that can have several labels. In other configurations they mean nothing and are not read.

    Args:
        labels: the C labels of the configuration.

    Raises:
        InputError: the configuration has something else there.
    """
    found = getattr(config, "label_thresholds", None) if is_multi_label(config) else None
    if found is None:
        return np.full(len(labels), HALF)
    values = [found.get(label) for label in labels] if isinstance(found, dict) else []
    fits = len(values) == len(found) and all(is_number(value) for value in values)
    if not fits or not all(0 <= float(value or 0) <= 1 for value in values):
        raise InputError(
            "the model's config.json is damaged: label_thresholds must have a number from 0 to 1 for each label"
        )
    return np.array(values, float)
