"""Validation texts as the Trainer evaluates them, also where each is read in windows."""

from __future__ import annotations

import numpy as np

from salience.data.encoding import Encoded
from salience.data.long_texts import merged


def by_length(encoded: Encoded | None) -> Encoded | None:
    """Texts sorted by length, so that evaluation needs little padding. The order does not change the scores.

    The windows of a text stay together, in their order. Texts are then sorted by their longest window.
    """
    if encoded is None:
        return None
    owners = np.arange(len(encoded)) if encoded.owners is None else encoded.owners
    longest = np.zeros(encoded.texts, np.int64)
    np.maximum.at(longest, owners, encoded.lengths)
    places = longest.argsort(kind="stable").argsort()[owners]
    order = places.argsort(kind="stable")
    found = encoded.take(order)
    found.owners = None if encoded.owners is None else places[order]
    return found


def of_texts(
    probabilities: np.ndarray, labels: np.ndarray, owners: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities (N, C) and labels of texts, from those of their windows.

    Args:
        probabilities: (M, C), of windows.
        labels: (M,), class numbers, or (M, C), 0 and 1: for each window those of its text.
        owners: (M,) the number of the text of each window, ascending from 0 to N - 1; None where each is a text.
    """
    if owners is None:
        return probabilities, labels
    firsts = np.unique(owners, return_index=True)[1]
    return merged(probabilities, owners, several=labels.ndim == 2), labels[firsts]
