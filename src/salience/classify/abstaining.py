"""Thresholds below which a classifier abstains, and their file. `salience.scores.thresholds` finds them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from salience.errors import InputError, listed, one_line, quoted
from salience.runs.folder import ABSTENTION
from salience.settings import is_number


@dataclass(frozen=True)
class Thresholds:
    """A threshold for each label. A text is decided if its highest probability is above that of its label."""

    values: dict[str, float]  # label to threshold. With 0 every text is decided, with 1 none is
    target_precision: float | None = None  # the share of decided texts that are to be right; None if a user chose
    certainty: float | None = None  # the probability, over the rows of the estimate, that the precision is reached

    def decided(self, probabilities: np.ndarray, labels: Sequence[str]) -> np.ndarray:
        """Whether each text is decided (N,), by probabilities (N, C) of the labels; one with NaN is not."""
        thresholds = np.array([self.values[label] for label in labels])
        return probabilities.max(1) > thresholds[probabilities.argmax(1)]

    def as_json(self) -> dict[str, Any]:
        rest = {"target_precision": self.target_precision, "certainty": self.certainty}
        return rest | {"thresholds": self.values}


def read_thresholds(model: str | Path, labels: Sequence[str]) -> Thresholds | None:
    """The thresholds in the folder of a model for its labels; None if there are none, as of a name on the hub."""
    file = Path(model).expanduser() / ABSTENTION
    if not file.is_file():
        return None
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        values, target, certainty = (content.get(name) for name in ("thresholds", "target_precision", "certainty"))
        if different := sorted(values.keys() ^ set(labels)):
            raise ValueError(f"its labels are not those of the model: {listed(map(quoted, different), 3)}")
        given = [value for value in (target, certainty) if value is not None]
        if not all(is_number(value) and 0 <= value <= 1 for value in [*values.values(), *given]):
            raise ValueError("it holds something else than numbers from 0 to 1")
    except (OSError, AttributeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{file} is damaged: {one_line(error, 200)}; train the model again, or predict with --no-abstain"
        ) from error
    return Thresholds({label: float(values[label]) for label in labels}, target, certainty)
