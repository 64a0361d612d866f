"""What the estimator learns to predict: one label for each text, or any number of them. `targets_of` tells by `y`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from salience.errors import InputError
from salience.estimator.indicators import as_indicators, collections_in, matrix_of
from salience.estimator.inputs import as_labels, classes_of
from salience.inference import TextClassifier


@dataclass(frozen=True)
class OneLabelEach:
    """Each text has one of C classes.

    Args:
        classes: the labels (C,), sorted, with their type in `y`.
    """

    classes: np.ndarray

    def predicted(self, probabilities: np.ndarray, classifier: TextClassifier) -> np.ndarray:
        """The most probable classes (N,), from probabilities (N, C)."""
        return self.classes[probabilities.argmax(1)]

    def known(self, y: Any) -> Any:
        """Labels in the form of predictions, which they have already."""
        return y


@dataclass(frozen=True)
class SeveralLabelsEach:
    """Each text has any number of C labels.

    Args:
        classes: the labels (C,): names, or the numbers of the columns of a matrix.
        dtype: of the matrices that are predicted.
    """

    classes: np.ndarray
    dtype: np.dtype

    def predicted(self, probabilities: np.ndarray, classifier: TextClassifier) -> np.ndarray:
        """A matrix (N, C) of 0 and 1: 1 where a probability reaches the threshold of its label."""
        return classifier.decisions(probabilities).astype(self.dtype)

    def known(self, y: Any) -> Any:
        """Labels in the form of predictions, a matrix of 0 and 1: N lists of names are converted.

        Raises:
            InputError: a name is not among the classes.
        """
        rows = collections_in(y)
        named = rows is not None and all(isinstance(label, str) for row in rows for label in row)
        if named:
            return matrix_of(rows or [], self.classes.tolist())
        return y if rows is None else np.array([list(row) for row in rows])


Targets = OneLabelEach | SeveralLabelsEach


def targets_of(y: Any, count: int) -> tuple[Targets, np.ndarray]:
    """What `y` asks to predict, and the labels as numbers: (N,) class numbers, or (N, C) 0 and 1.

    Args:
        y: labels as of `SalienceClassifier.fit`.
        count: number of texts N.

    Raises:
        InputError: there are more or fewer labels than texts.
        ValueError: as `as_indicators`, `as_labels` and `classes_of` do.
    """
    found = as_indicators(y)
    if found is not None:
        check_count(len(found.matrix), count)
        return SeveralLabelsEach(found.classes, found.dtype), found.matrix
    labels = as_labels(y)
    check_count(len(labels), count)
    classes, numbers = classes_of(labels)
    return OneLabelEach(classes), numbers


def check_count(labels: int, texts: int) -> None:
    """Raises an `InputError` unless every text has its labels."""
    if labels != texts:
        raise InputError(f"{texts} texts, but {labels} labels")
