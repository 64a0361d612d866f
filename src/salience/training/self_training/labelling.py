"""From the probabilities of two teachers to labels and weights of texts without labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from salience.files import replacing
from salience.training.self_training.aligning import aligned
from salience.training.self_training.blending import blended
from salience.training.self_training.sharpening import sharpened
from salience.training.self_training.weighting import weights


@dataclass(frozen=True)
class Labelled:
    """Labels of N texts that two teachers have given.

    Attributes:
        labels: (N, C) float32, probabilities; rows sum to 1, unless a text can have several labels.
        weights: (N,) float32, from 0 to 1; of several labels (N, C).
        agreement: fraction of the texts for which both teachers have the same most probable class; of several labels,
            fraction of the decisions about them.
        teacher_steps: number of steps of the training of the first teacher.
    """

    labels: np.ndarray
    weights: np.ndarray
    agreement: float
    teacher_steps: int


def labelled(first: np.ndarray, second: np.ndarray, prior: np.ndarray, teacher_steps: int = 0) -> Labelled:
    """The labels and weights of texts from the probabilities of two teachers: blended, aligned, sharpened, weighted.

    Args:
        first, second: probabilities (N, C) of the teachers.
        prior: shares of the classes among the labelled rows (C,).
        teacher_steps: as in `Labelled`.
    """
    found = aligned(blended(first.astype(np.float64), second.astype(np.float64)), prior)
    agreement = float((first.argmax(1) == second.argmax(1)).mean())
    return Labelled(sharpened(found).astype(np.float32), weights(found).astype(np.float32), agreement, teacher_steps)


def labelled_sets(first: np.ndarray, second: np.ndarray, prior: np.ndarray, teacher_steps: int = 0) -> Labelled:
    """As `labelled`, where a text can have several labels. Each is labelled by itself, as two classes: no and yes.

    Args:
        first, second: probabilities (N, C) of the teachers, each label for itself.
        prior: shares of the labelled rows that have each label (C,).
        teacher_steps: as in `Labelled`.
    """
    columns = zip(*map(no_and_yes, (first, second, prior)), strict=True)
    found = [labelled(*of_label) for of_label in columns]
    return Labelled(
        np.stack([each.labels[:, 1] for each in found], 1), np.stack([each.weights for each in found], 1),
        float(np.mean([each.agreement for each in found])), teacher_steps,
    )  # fmt: skip


def no_and_yes(probabilities: np.ndarray) -> np.ndarray:
    """Probabilities (N, C) of labels, or one for each label (C,), as those of C decisions: (C, N, 2), or (C, 2)."""
    return np.stack([1 - probabilities.T, probabilities.T], -1)


def write_labels(file: Path, found: Labelled) -> None:
    """Writes labels in one step, so that the file exists only if it is complete."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as unfinished, open(unfinished, "wb") as opened:
        np.savez(opened, labels=found.labels, weights=found.weights, agreement=found.agreement,
                 teacher_steps=found.teacher_steps)  # fmt: skip


def read_labels(file: Path) -> Labelled | None:
    """The labels that an interrupted run has written; None if it has not."""
    if not file.is_file():
        return None
    with np.load(file, allow_pickle=False) as arrays:
        return Labelled(arrays["labels"], arrays["weights"], float(arrays["agreement"]), int(arrays["teacher_steps"]))
