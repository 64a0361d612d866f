"""A temperature for the first teacher, at which it is as certain as the second one.

A model that is fine-tuned on few rows predicts new texts with a confidence near 1 even where it is wrong. In a mean of
both teachers' probabilities it would always have the last word. Logistic regression with an L2 penalty is not so
certain, so its mean confidence is the measure. Labels are not needed: rows that the first teacher has not seen are few
or none. (Guo et al., 2017, arXiv:1706.04599, section 4.2, fit the temperature on labels.)
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from salience.training.self_training.sharpening import sharpened

LARGEST = 100.0  # temperature; the smallest is its inverse


def tempered(probabilities: np.ndarray, confidence: float) -> np.ndarray:
    """The probabilities p_c^(1/T) / sum_k p_k^(1/T), with the T at which their mean confidence is the one given.

    Args:
        probabilities: p (N, C), whose rows sum to 1. The confidence of a row is its largest probability.
        confidence: the mean confidence of the result, if a T from 1/100 to 100 gives it; else the nearest that one
            gives.

    Returns:
        (N, C), whose rows sum to 1.
    """

    def excess(log_temperature: float) -> float:
        return sharpened(probabilities, math.exp(log_temperature)).max(1).mean() - confidence

    lowest, highest = -math.log(LARGEST), math.log(LARGEST)  # the confidence falls as the temperature rises
    if excess(lowest) <= 0:
        return sharpened(probabilities, 1 / LARGEST)
    if excess(highest) >= 0:
        return sharpened(probabilities, LARGEST)
    return sharpened(probabilities, math.exp(brentq(excess, lowest, highest)))
