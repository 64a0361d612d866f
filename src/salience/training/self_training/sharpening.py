"""Sharpening: a predicted distribution with less entropy, so that a student is more certain than its teachers.

David Berthelot, Nicholas Carlini, Ian Goodfellow, Nicolas Papernot, Avital Oliver and Colin Raffel (NeurIPS 2019),
"MixMatch: A Holistic Approach to Semi-Supervised Learning", arXiv:1905.02249, equation 7, with T = 0.5 as there.
"""

from __future__ import annotations

import numpy as np


def sharpened(probabilities: np.ndarray, temperature: float = 0.5) -> np.ndarray:
    """The probabilities p_c^(1/T) / sum_k p_k^(1/T).

    Args:
        probabilities: p (N, C), whose rows sum to 1.
        temperature: T, above 0; 1 leaves them as they are.

    Returns:
        (N, C), whose rows sum to 1.
    """
    powers = (probabilities / probabilities.max(1, keepdims=True)) ** (1 / temperature)
    return powers / powers.sum(1, keepdims=True)
