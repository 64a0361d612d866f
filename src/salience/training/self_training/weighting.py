"""Weights of labels that were predicted: a truncated Gaussian of the confidence.

Hao Chen, Ran Tao, Yue Fan, Yidong Wang, Jindong Wang, Bernt Schiele, Xing Xie, Bhiksha Raj and Marios Savvides (ICLR
2023), "SoftMatch: Addressing the Quantity-Quality Trade-off in Semi-supervised Learning", arXiv:2301.10921, equations
5 and 6, with lambda_max = 1. The authors' code divides the variance by n_sigma^2 with n_sigma = 2, as is done here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

N_SIGMA = 2


class Confidence(NamedTuple):
    """Mean and variance of the confidence of texts: of the largest probability of each."""

    mean: float
    variance: float


def confidence_of(probabilities: np.ndarray) -> Confidence:
    """The confidence of N texts with the probabilities (N, C): equation 6. The variance of one text is 0."""
    confidence = probabilities.max(1)
    return Confidence(float(confidence.mean()), float(confidence.var(ddof=1)) if len(confidence) > 1 else 0.0)


def weights(probabilities: np.ndarray, usual: Confidence | None = None) -> np.ndarray:
    """The weight of each text: exp(-(c - mean)^2 / (2 s^2 / n_sigma^2)), and 1 if c is at least the mean: equation 5.

    Args:
        probabilities: (N, C). A row's confidence c is its largest value.
        usual: mean and variance s^2 of c; those of these rows if not given.

    Returns:
        (N,), from 0 to 1.
    """
    mean, variance = confidence_of(probabilities) if usual is None else usual
    below = np.minimum(probabilities.max(1) - mean, 0)
    if variance == 0:
        return np.ones(len(probabilities))
    return np.exp(-(below**2) / (2 * variance / N_SIGMA**2))
