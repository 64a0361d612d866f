"""Which words a class uses more than the others do (Sun and Lu, ACL 2020, section 5.1 and appendix C)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NEUTRAL, NONE = -1, -2  # categories beside the classes' numbers
LEAST = 5  # a class's word stands in its texts more often than this
GAP = 5  # of a neutral word's counts, exclusive


def counts(texts: Sequence[np.ndarray], labels: Sequence[int], vocabulary: int, classes: int) -> np.ndarray:
    """How often each type (V) stands in texts of each class (C): (V, C)."""
    found = np.zeros((vocabulary, classes), np.int64)
    for ids, label in zip(texts, labels, strict=True):
        np.add.at(found[:, label], ids, 1)
    return found


def association(counted: np.ndarray) -> np.ndarray:
    """gamma = (f+ - f-) / (f+ + f-) of each type, from its counts (V, 2) in class 0 and 1; 0 where there are none."""
    negative, positive = counted.T
    return (positive - negative) / np.maximum(positive + negative, 1)


def categories(counted: np.ndarray) -> np.ndarray:
    """The class whose word a type is, `NEUTRAL`, or `NONE`: (V,), from counts (V, C).

    A class's word has more than 3/4 of its occurrences there, and more than 5. With two classes that is |gamma| > 1/2,
    1 included: the open interval (0.5, 1) that the paper prints would not give the counts that it prints. A neutral
    word's shares differ by less than 0.1 and its counts by less than 5, and it need not be frequent.
    """
    total, largest, smallest = counted.sum(1), counted.max(1), counted.min(1)
    own = (4 * largest > 3 * total) & (largest > LEAST)
    neutral = (10 * (largest - smallest) < total) & (largest - smallest < GAP)  # in whole numbers: no rounding
    return np.where(own, counted.argmax(1), np.where(neutral, NEUTRAL, NONE))


def category_names(labels: Sequence[str]) -> dict[int, str]:
    """What to call each category."""
    own = {NEUTRAL: "neutral", NONE: "other"}
    return dict(enumerate(labels)) | {
        number: f"{name} (no class)" if name in labels else name for number, name in own.items()
    }
