"""How uncertain the decisions about the labels of a text are, where a text can have several."""

from __future__ import annotations

import numpy as np
from scipy.special import entr


def label_entropies(probabilities: np.ndarray) -> np.ndarray:
    """The entropy of the decision about each label (N, C), from 0 to 1 bit.

    Args:
        probabilities: (N, C), of each label by itself.
    """
    yes = probabilities.astype(np.float64)
    return (entr(yes) + entr(1 - yes)) / np.log(2)
