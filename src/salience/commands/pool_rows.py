"""The rows of a pool: their texts and what a classifier says of them, and later the rows that were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from salience.classify import TextClassifier
from salience.classify.parts import Windows
from salience.classify.predictor import texts_in
from salience.data.reading import stream
from salience.errors import InputError
from salience.suggestions.suggesting import FreshTexts, digest_of_text, view_of


@dataclass(frozen=True)
class ReadPool:
    """The texts of a pool that may be suggested, as a classifier sees them.

    Args:
        digests: what stands for each text, by the number of its row, from 1, in the order of the rows.
        probabilities: (N, C).
        vectors: (N, D); None if they are not wanted.
    """

    digests: dict[int, bytes]
    probabilities: np.ndarray
    vectors: np.ndarray | None

    @property
    def rows(self) -> np.ndarray:
        """The numbers of the rows (N,)."""
        return np.fromiter(self.digests, np.int64, len(self.digests))


def read_pool(windows: Windows, classifier: TextClassifier, fresh: FreshTexts, with_vectors: bool) -> ReadPool:
    """Reads a pool, some rows at a time, and predicts the texts that are fresh.

    Args:
        windows: of the file.
        classifier: what predicts.
        fresh: tells which texts may be suggested.
        with_vectors: whether vectors are wanted.

    Raises:
        InputError: a row is invalid, a value is no text, or the classifier gives no vectors.
    """
    digests: dict[int, bytes] = {}
    views: list[tuple[np.ndarray, np.ndarray | None]] = []
    first = 1
    for texts in windows.texts():
        kept = [place for place, row in enumerate(texts) if fresh.is_fresh(row)]
        if kept:
            own: list[Any] = [texts[place] if len(texts[place]) > 1 else texts[place][0] for place in kept]
            views.append(view_of(classifier, own, with_vectors))
        digests |= {first + place: digest_of_text(texts[place]) for place in kept}
        first += len(texts)
    probabilities = [view[0] for view in views] or [np.zeros((0, len(classifier.labels)), np.float32)]
    vectors = [view[1] for view in views if view[1] is not None]
    return ReadPool(digests, np.concatenate(probabilities), np.concatenate(vectors) if vectors else None)


def chosen_rows(windows: Windows, numbers: Sequence[int], digests: dict[int, bytes]) -> list[dict]:
    """The rows of these numbers, with all columns, in the order of the numbers. The file is read once more.

    Args:
        windows: of the file.
        numbers: of rows, from 1.
        digests: what stands for the text of each of them.

    Raises:
        InputError: a row is not there any more, or its text is another one.
    """
    wanted = set(numbers)
    found: dict[int, dict] = {}
    for number, row in enumerate(stream(windows.source, windows.encoding), 1):
        if number not in wanted:
            continue
        (text,) = texts_in([row], windows.columns, windows.source, number)
        if digest_of_text(text) == digests[number]:
            found[number] = row
        if len(found) == len(wanted):
            break
    if len(found) < len(wanted):
        raise InputError(f"{windows.source} has changed while it was read: run again")
    return [found[number] for number in numbers]
