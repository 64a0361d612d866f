"""Weights of labels that were predicted: a truncated Gaussian of the confidence.

Hao Chen, Ran Tao, Yue Fan, Yidong Wang, Jindong Wang, Bernt Schiele, Xing Xie, Bhiksha Raj and Marios Savvides (ICLR
2023), "SoftMatch: Addressing the Quantity-Quality Trade-off in Semi-supervised Learning", arXiv:2301.10921, equation
5, with lambda_max = 1. There, mean and variance are moving averages over batches; here they are those of all texts.
The authors' code divides the variance by n_sigma^2 with n_sigma = 2, as is done here.
"""

from __future__ import annotations

import numpy as np

N_SIGMA = 2


def weights(probabilities: np.ndarray) -> np.ndarray:
    """The weight of each text: exp(-(c - mean)^2 / (2 s^2 / n_sigma^2)), and 1 if c is at least the mean.

    Args:
        probabilities: (N, C). A row's confidence c is its largest value; s^2 is the variance of c over the rows.

    Returns:
        (N,), from 0 to 1.
    """
    confidence = probabilities.max(1)
    below = np.minimum(confidence - confidence.mean(), 0)
    variance = confidence.var(ddof=1) if len(confidence) > 1 else 0.0
    if variance == 0:
        return np.ones(len(confidence))
    return np.exp(-(below**2) / (2 * variance / N_SIGMA**2))
