"""Statistics over several seeds: means with standard deviations, and paired differences with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import ttest_rel


@dataclass(frozen=True)
class Difference:
    """A mean difference with its confidence interval.

    Attributes:
        mean: the mean difference.
        low: lower bound of the interval; None if no interval can be computed.
        high: upper bound of the interval; None if no interval can be computed.
    """

    mean: float
    low: float | None
    high: float | None

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def __str__(self) -> str:
        """Such as '+0.52 [-0.10, +1.14]'."""
        if self.low is None:
            return f"{self.mean:+.2f}"
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


def difference(values: ArrayLike, baseline: ArrayLike, comparisons: int = 1) -> Difference:
    """The mean of `values` - `baseline`, paired run by run, with its 95 % confidence interval.

    The interval is that of the paired t-test: mean +- t * s / sqrt(S), with the standard deviation s of S differences
    and a quantile t of Student's distribution with S - 1 degrees of freedom. There is none for a single run, nor for
    differences that are all equal: their deviation of 0 comes from too few texts, or from one model taken twice, and
    says nothing about other seeds.

    Args:
        values: (S,), one value a run.
        baseline: (S,), the values of the baseline in the same runs.
        comparisons: number of intervals that are shown together. Each has the level 1 - 0.05 / comparisons, so that
            all of them hold together at 95 % (Bonferroni).
    """
    differences = np.asarray(values, float) - np.asarray(baseline, float)
    if len(differences) < 2 or np.ptp(differences) < 1e-12:
        return Difference(float(differences.mean()), None, None)
    low, high = ttest_rel(values, baseline).confidence_interval(1 - 0.05 / comparisons)
    return Difference(float(differences.mean()), float(low), float(high))


def spread(values: ArrayLike) -> str:
    """The mean, and the sample standard deviation if there are several values: '93.10 ± 0.42'."""
    values = np.asarray(values, float)
    return f"{values.mean():.2f} ± {values.std(ddof=1):.2f}" if len(values) > 1 else f"{values[0]:.2f}"
