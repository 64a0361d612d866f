"""Association of words with classes (Sun and Lu, 2020, section 5.1 and appendix C).

Understanding Attention for Text Classification, ACL 2020, doi 10.18653/v1/2020.acl-main.312.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NEUTRAL, NONE = -1, -2  # categories of words that belong to no class; the others are class indices
LEAST = 5  # a word of a class occurs more often than this in the texts of the class
GAP = 5  # the counts of a neutral word differ by less than this


def counts(
    texts: Sequence[np.ndarray], labels: Sequence[int] | np.ndarray, vocabulary: int, classes: int
) -> np.ndarray:
    """How often each word type occurs in the texts of each class.

    Args:
        texts: the token ids of each text (T,).
        labels: the class index of each text.
        vocabulary: V, the number of types.
        classes: C, the number of classes.

    Returns:
        Counts (V, C).
    """
    occurrences = np.zeros((vocabulary, classes), np.int64)
    for ids, label in zip(texts, labels, strict=True):
        np.add.at(occurrences[:, label], ids, 1)
    return occurrences


def association(counted: np.ndarray) -> np.ndarray:
    """gamma = (f+ - f-) / (f+ + f-) of each type (V,), from -1 to 1; 0 for a type that does not occur.

    Args:
        counted: counts (V, 2) in the texts of class 0 (f-) and of class 1 (f+).
    """
    negative, positive = counted.T
    return (positive - negative) / np.maximum(positive + negative, 1)


def categories(counted: np.ndarray) -> np.ndarray:
    """The category of each type: the index of the class that it belongs to, `NEUTRAL`, or `NONE`.

    A type belongs to a class if more than 3/4 of its occurrences, and more than 5 of them, are in texts of the class.
    For two classes this is |gamma| > 1/2, with |gamma| = 1 included: the open interval (0.5, 1) that the paper prints
    would not give the counts that it prints. The shares of a neutral type differ by less than 0.1 and its counts by
    less than 5; it may be rare.

    Args:
        counted: counts (V, C).

    Returns:
        Categories (V,).
    """
    total, largest, smallest = counted.sum(1), counted.max(1), counted.min(1)
    belongs = (4 * largest > 3 * total) & (largest > LEAST)
    neutral = (10 * (largest - smallest) < total) & (largest - smallest < GAP)  # in integers: no rounding
    return np.where(belongs, counted.argmax(1), np.where(neutral, NEUTRAL, NONE))


def category_names(labels: Sequence[str]) -> dict[int, str]:
    """Category to displayed name: the labels of the classes, "neutral" and "other".

    A class that is called "neutral" or "other" keeps its name; the category is then called "neutral (no class)" or
    "other (no class)".
    """
    without_class = {NEUTRAL: "neutral", NONE: "other"}
    return dict(enumerate(labels)) | {
        category: f"{name} (no class)" if name in labels else name for category, name in without_class.items()
    }
