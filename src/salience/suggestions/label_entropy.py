"""How uncertain the decisions about the labels of a text are, where a text can have several."""

from __future__ import annotations

import numpy as np


def mean_entropies(probabilities: np.ndarray) -> np.ndarray:
    """The entropy of a decision about a label, the mean over the labels (N,), from 0 to 1 bit.

    Args:
        probabilities: (N, C), of each label by itself.
    """
    yes = probabilities.astype(np.float64)
    both = np.stack([yes, 1 - yes])
    logarithms = np.log2(both, where=both > 0, out=np.zeros_like(both))  # 0 log 0 is 0
    return -(both * logarithms).sum(0).mean(1)
