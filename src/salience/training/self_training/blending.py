"""Blending the probabilities of two classifiers: a linear opinion pool (Stone, 1961, doi:10.1214/aoms/1177704873)."""

from __future__ import annotations

import numpy as np


def blended(first: np.ndarray, second: np.ndarray, weight: float = 0.5) -> np.ndarray:
    """The blend b = weight p + (1 - weight) q of the probabilities of each text.

    Args:
        first, second: p and q, (N, C), whose rows sum to 1.
        weight: of the first, from 0 to 1.

    Returns:
        (N, C), whose rows sum to 1.
    """
    return weight * first + (1 - weight) * second
