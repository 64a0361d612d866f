"""The probabilities from which on labels are predicted, as the configuration of a model has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from salience.errors import InputError
from salience.models.problem import is_multi_label
from salience.settings import is_number

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
