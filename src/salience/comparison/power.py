"""How many samples decide a claim: the chance of each verdict, and the least number of samples that gives 80 %.

All sets are taken to have the same samples and the same spread of differences between samples, in the model of
`salience.comparison.verdict`. Then t has S (D - 1) degrees of freedom, for S sets and D samples of each.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache, partial

import numpy as np
from scipy.special import chdtri, ndtr, stdtrit
from scipy.stats import nct

from salience.comparison.verdict import ALPHA, POINT

POWER = 0.8
MOST = 10**6  # draws; more are never made
STEPS = 2000  # of the integral over the spreads that the draws may show


def chance_of_gain(gain: float, spread: float, sets: int, draws: int) -> float:
    """The chance that the 95 % interval is above 0 if the mean difference is `gain`: by the noncentral t."""
    degrees = sets * (draws - 1)
    return float(nct.sf(-stdtrit(degrees, ALPHA / 2), degrees, gain / spread * math.sqrt(sets * draws)))


def chance_of_no_gain(spread: float, sets: int, draws: int) -> float:
    """The chance that the 95 % interval has 0 in it and lies within one point of it, if there is no difference."""
    degrees = sets * (draws - 1)
    error = spread / math.sqrt(sets * draws)
    shown = np.sqrt(
        chdtri(degrees, (np.arange(STEPS) + 0.5) / STEPS) / degrees
    )  # spreads, as multiples of the true one
    half = -stdtrit(degrees, ALPHA / 2) * error * shown
    nearest = np.clip(np.minimum(half, POINT - half), 0, None)  # how far from 0 the mean may be
    return float(np.mean(2 * ndtr(nearest / error) - 1))


@cache
def draws_needed(gain: float | None, spread: float, sets: int) -> float:
    """The least number of samples of each set, two or more, that shows a gain with a power of 80 %.

    Without a gain: that shows that there is none of a point, if there is none at all. Infinity if a million are too
    few, or if the gain is none.
    """
    if gain is not None and gain <= 0:
        return math.inf
    chance = partial(chance_of_no_gain, spread, sets) if gain is None else partial(chance_of_gain, gain, spread, sets)
    return 2 + bisect_left(range(2, MOST), POWER, key=chance) if chance(MOST) >= POWER else math.inf


def pooled_spread(differences: Sequence[np.ndarray]) -> tuple[float, int]:
    """The standard deviation of differences (D,) between samples, pooled over all, and its degrees of freedom."""
    degrees = sum(len(values) - 1 for values in differences)
    squares = sum(float(np.square(values - np.mean(values)).sum()) for values in differences)
    return (math.sqrt(squares / degrees) if degrees else math.nan), degrees
