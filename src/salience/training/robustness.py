"""Accuracy on corrupted test rows: with typing errors, and with words left out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from salience.data.corruptions import CORRUPTIONS, corrupted
from salience.data.texts import Texts

RATE = 0.1  # the share of words that are corrupted, on average
SEED = 0  # with the number of a row it determines its corruption: every run is tested on the same texts
SCORES = {corruption: f"accuracy_{corruption.replace('-', '_')}" for corruption in CORRUPTIONS}


def corrupted_tests(test: Texts) -> dict[str, Texts]:
    """The test rows with each corruption of `CORRUPTIONS`, the same for every run on these rows."""
    return {corruption: corrupted(test, corruption, RATE, SEED) for corruption in CORRUPTIONS}


def robustness_scores(probabilities: Mapping[str, np.ndarray], labels: np.ndarray) -> dict[str, float]:
    """The accuracies on corrupted test rows, from 0 to 1, and the rate.

    Args:
        probabilities: corruption to the probabilities (N, C) of the rows with it, in the order of `corrupted_tests`.
        labels: (N,), class numbers.

    Returns:
        "accuracy_typos", "accuracy_dropped_words", and "rate", the share of words that are corrupted.
    """
    return {SCORES[name]: float((each.argmax(1) == labels).mean()) for name, each in probabilities.items()} | {
        "rate": RATE
    }
