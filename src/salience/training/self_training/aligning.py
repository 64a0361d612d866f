"""Distribution alignment: predicted labels become as frequent as those of the labelled rows.

David Berthelot, Rebecca Roelofs, Kihyuk Sohn, Nicholas Carlini and Alex Kurakin (ICLR 2022), "AdaMatch: A Unified
Approach to Semi-Supervised Learning and Domain Adaptation", arXiv:2106.04732, section 3.2. There, both expectations
are means over the texts of a batch. Here, that of the labels is the mean over all labelled rows; that of predictions
is the mean over all texts, or a moving average over the texts of the latest steps.
"""

from __future__ import annotations

import numpy as np


def aligned(probabilities: np.ndarray, prior: np.ndarray, mean: np.ndarray | None = None) -> np.ndarray:
    """The probabilities q~_i = normalise(q_i * prior / mean).

    Args:
        probabilities: q (N, C), whose rows sum to 1.
        prior: shares of the classes among the labelled rows (C,).
        mean: of the probabilities of texts (C,); that of these rows if not given.

    Returns:
        (N, C), whose rows sum to 1. A class that no row of q admits stays at 0.
    """
    mean = probabilities.mean(0) if mean is None else mean
    shifted = probabilities * np.divide(prior, mean, out=np.zeros_like(mean), where=mean > 0)
    total = shifted.sum(1, keepdims=True)
    return np.divide(shifted, total, out=probabilities.copy(), where=total > 0)
