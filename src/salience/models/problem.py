"""What the logits (B, C) of a classifier mean: one label for a text, or each label by itself.

`config.problem_type` says which, by the names of transformers, whose pipelines thus read a checkpoint in the same way.
With one label the probabilities are the softmax of the logits. With several, the probability of each label is the
sigmoid of its logit, and the labels are independent of each other given the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from salience.errors import InputError
from salience.hooks.stages import unwrapped
from salience.scores.labels import ONE_LABEL, SEVERAL_LABELS, Labels
from salience.scores.metrics import HALF
from salience.settings import is_number


def labels_in_config(config: Any) -> Labels:
    """Whether a configuration of transformers is of one label for a text or of several; `ONE_LABEL` by default."""
    problem = getattr(config, "problem_type", None)
    return SEVERAL_LABELS if problem == SEVERAL_LABELS.problem_type else ONE_LABEL


def labels_of_model(model: nn.Module) -> Labels:
    """As `labels_in_config`, of a classifier's configuration."""
    return labels_in_config(getattr(unwrapped(model), "config", None))


def log_probabilities(model: nn.Module, logits: Tensor) -> Tensor:
    """ln p of each label (B, C)."""
    return F.logsigmoid(logits) if labels_of_model(model).several else logits.log_softmax(1)


def to_probabilities(labels: Labels, logits: Tensor) -> Tensor:
    """The probabilities (B, C): rows sum to 1, or each label is for itself."""
    return logits.sigmoid() if labels.several else logits.softmax(1)


def log_likelihood(model: nn.Module, logits: Tensor, labels: Tensor) -> Tensor:
    """ln p of the labels of each text (B,): class numbers (B,), for ln p of this label alone.

    Or, where a text can have several, 0 and 1 (B, C), for all labels: sum_c y_c ln p_c + (1 - y_c) ln (1 - p_c).
    """
    if not labels_of_model(model).several:
        return -F.cross_entropy(logits, labels, reduction="none")
    if labels.dim() == 1:
        return F.logsigmoid(logits).gather(1, labels[:, None])[:, 0]
    return -F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype), reduction="none").sum(1)


def thresholds_in(config: Any, labels: Sequence[str]) -> np.ndarray:
    """The thresholds of labels in a configuration (C,) float64, as `Labels.decisions` takes them; `HALF` without any.

    Of multi-label texts, they are its `label_thresholds`, one for each label: the probabilities from
    which on labels are predicted. Of texts with one label, its `predicted_from` has the threshold of one label, and
    the others are NaN.
    """
    several = labels_in_config(config).several
    name, words = ("label_thresholds", "have a number from 0 to 1 for each label")
    if not several:
        name, words = "predicted_from", "have a number from 0 to below 1 for one label"
    found = getattr(config, name, None)
    if found is None:
        return np.full(len(labels), HALF)
    fits = isinstance(found, dict) and (found.keys() == set(labels) if several else len(found) == 1)
    if not fits or not all(
        label in labels and is_number(value) and (0 <= value < 1 or (several and value == 1))
        for label, value in found.items()
    ):
        raise InputError(f"the model's config.json is damaged: {name} must {words}")
    return np.array([found.get(label, np.nan) for label in labels], float)
