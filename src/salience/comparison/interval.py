"""The 95 % interval of a paired difference over data sets, samples of training rows, and test rows.

It is the hierarchical bootstrap in closed form: the mean is linear in the bootstrap's weights, so the bootstrap's
variance is known without sampling. Two corrections make it honest for few samples. Each level's sum of squares is
divided by its degrees of freedom, because D samples that are sampled with replacement vary by (D - 1) / D of what they
should. On such variances of hierarchical data see Davison and Hinkley (1997), Bootstrap Methods and their Application,
section 3.8. And each level has its own quantile of Student's t:

    half width^2 = t(samples)^2 * variance by samples + t(rows)^2 * variance by rows

For one set with normal levels this covers at least 95 %: Banerjee (1960), Approximate confidence interval for linear
functions of means of k populations when the population variances are not equal, Sankhya 22, 357-358. Over several
sets, the degrees of freedom of a level are Satterthwaite's (1946, Biometrics Bulletin 2, doi 10.2307/3002019).

On other data sets, the means of the S sets vary by everything, so that the interval is Student's with S - 1 degrees of
freedom. It is not narrower than the one on these data sets, for which a set with a single sample is taken to vary by
samples as the mean of the others does.

docs/research/studies/statistics.md says how often this and other intervals cover the true difference, as
`bench/interval_coverage.py` measures it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from salience.comparison.variation import Difference, Variation, variation

LEAST_SPREAD = 1e-12  # differences that are all equal spread by rounding errors only


@dataclass(frozen=True)
class Level:
    """A part of the variance of a mean, and the degrees of freedom of that."""

    variance: float
    degrees: float


def paired_interval(
    differences: Sequence[ArrayLike], over_sets: bool = True, over_rows: bool = True, comparisons: int = 1
) -> Difference:
    """The mean over data sets of paired differences, with its 95 % interval.

    There is no interval if nothing is known of a level: a single sample of a set, unless the sets vary; or differences
    that are all equal.

    Args:
        differences: for each of S data sets (D_s, N_s) of samples and test rows, or (D_s,) if a sample has one number
            only, as macro-F1. Then the test rows are held fixed.
        over_sets: whether the claim is about other data sets like these, of which these are a random sample. With one
            data set it is always about that set.
        over_rows: whether a claim about these data sets is about other test rows of theirs.
        comparisons: number of intervals that are shown together. Each has the level 1 - 0.05 / comparisons, so that
            all of them hold together at 95 % (Bonferroni).
    """
    sets = [variation(values) for values in differences]
    mean = float(np.mean([each.mean for each in sets]))
    half = half_of(levels(sets, over_rows), comparisons)
    if over_sets and len(sets) > 1:
        half = half_of([between_sets(sets)], comparisons)
        if any(each.draws > 1 for each in sets):
            half = max(half, half_of(levels(sets, over_rows, assumed=True), comparisons))
    return Difference(mean, mean - half, mean + half) if half > LEAST_SPREAD else Difference(mean, None, None)


def levels(sets: Sequence[Variation], over_rows: bool = True, assumed: bool = False) -> list[Level]:
    """The variance of the mean over these data sets by samples, and by test rows if they are to be others.

    Nothing is known of the samples of a set with a single one, unless it is `assumed` to vary as the others do.
    """
    known = [each for each in sets if each.draws > 1] if assumed else sets
    by_draws = satterthwaite([each.by_draws for each in known], [each.draws - 1 for each in known])
    by_draws = replace(by_draws, variance=by_draws.variance * len(known) / len(sets))
    by_rows = satterthwaite([each.by_rows for each in sets], [each.rows - 1 for each in sets])
    return [by_draws, by_rows] if over_rows else [by_draws]


def between_sets(sets: Sequence[Variation]) -> Level:
    """The variance of the mean over at least two data sets, by the means of these sets."""
    return Level(float(np.var([each.mean for each in sets], ddof=1)) / len(sets), len(sets) - 1)


def satterthwaite(variances: Sequence[float], degrees: Sequence[float]) -> Level:
    """The variance of a mean of S independent means, and Satterthwaite's degrees of freedom.

    The variances of the S means, NaN where unknown, have these degrees of freedom.
    """
    total = sum(variances)
    if not total > 0:  # nothing varies, or NaN
        return Level(total / len(variances) ** 2, sum(degrees))
    spread = sum(each**2 / freedom for each, freedom in zip(variances, degrees, strict=True) if each)
    return Level(total / len(variances) ** 2, total**2 / spread)


def half_of(parts: Sequence[Level], comparisons: int = 1) -> float:
    """Half the width of an interval of a mean that varies by these levels; NaN if the variance of one is unknown."""
    chance = 0.025 / comparisons
    return math.sqrt(sum(part.variance * stdtrit(part.degrees, chance) ** 2 for part in parts if part.variance != 0))
