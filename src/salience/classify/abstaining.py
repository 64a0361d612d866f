"""Thresholds below which a classifier abstains: the file that holds them beside a checkpoint.

`salience.scores.thresholds` finds them. Programs that do not know the file read the checkpoint as any other.
"""

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
    """A threshold for each label. A text is decided if its highest probability is above the threshold of that label.

    Args:
        values: label to threshold. With 0 every text is decided, with 1 none is.
        target_precision: the share of decided texts that are to be right; None for thresholds that a user chose.
        certainty: the probability, over the rows on which the thresholds were found, that the precision is reached.
    """

    values: dict[str, float]
    target_precision: float | None = None
    certainty: float | None = None

    def decided(self, probabilities: np.ndarray, labels: Sequence[str]) -> np.ndarray:
        """Whether each text is decided (N,), by probabilities (N, C) of the labels; one with NaN is not."""
        thresholds = np.array([self.values[label] for label in labels])
        return probabilities.max(1) > thresholds[probabilities.argmax(1)]

    def as_json(self) -> dict[str, Any]:
        """The content of the file."""
        return {
            "target_precision": self.target_precision, "certainty": self.certainty, "thresholds": self.values,
        }  # fmt: skip


def read_thresholds(model: str | Path, labels: Sequence[str]) -> Thresholds | None:
    """The thresholds in the folder of a model; None if there are none, or if it is a name on the hub.

    Args:
        labels: those of the model.

    Raises:
        InputError: the file is damaged, or is about other labels.
    """
    file = Path(model).expanduser() / ABSTENTION
    if not file.is_file():
        return None
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or not isinstance(values := content.get("thresholds"), dict):
            raise ValueError("it holds no thresholds")
        if different := sorted(values.keys() ^ set(labels)):
            raise ValueError(f"its labels are not those of the model: {listed(map(quoted, different), 3)}")
        for label, value in values.items():
            if not is_number(value) or not 0 <= value <= 1:
                raise ValueError(f"the threshold of {quoted(label)} is no number from 0 to 1")
        target, certainty = (content.get(name) for name in ("target_precision", "certainty"))
        if not all(value is None or (is_number(value) and 0 <= value <= 1) for value in (target, certainty)):
            raise ValueError("target_precision and certainty are numbers from 0 to 1, or null")
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{file} is damaged: {one_line(error, 200)}; train the model again, or predict with --no-abstain"
        ) from error
    return Thresholds({label: float(values[label]) for label in labels}, target, certainty)
