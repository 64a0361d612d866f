"""What several seeds say together: a mean with its spread, and differences that are intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import ttest_rel


@dataclass(frozen=True)
class Difference:
    """A mean difference and the interval in which it lies as far as its runs can tell; None where they cannot."""

    mean: float
    low: float | None
    high: float | None

    @property
    def beyond_chance(self) -> bool:
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def __str__(self) -> str:
        if self.low is None:
            return f"{self.mean:+.2f}"
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


def difference(values: ArrayLike, others: ArrayLike, comparisons: int = 1) -> Difference:
    """`values` - `others`, paired run by run, with the 95 % interval of Student's t.

    Args:
        values, others: (S,); a single run gives no interval, nor do runs that all differ by the same: what has no
            spread at all is too few texts, or one model twice, and says nothing of other seeds.
        comparisons: how many intervals are shown together. All of them hold at 95 % (Bonferroni): each is as wide as
            one at a level of 1 - 0.05 / comparisons.
    """
    apart = np.asarray(values, float) - np.asarray(others, float)
    if len(apart) < 2 or np.ptp(apart) < 1e-12:
        return Difference(float(apart.mean()), None, None)
    low, high = ttest_rel(values, others).confidence_interval(1 - 0.05 / comparisons)
    return Difference(float(apart.mean()), float(low), float(high))


def spread(values: ArrayLike) -> str:
    """The mean and, of several runs, their standard deviation."""
    array = np.asarray(values, float)
    return f"{array.mean():.2f} ± {array.std(ddof=1):.2f}" if len(array) > 1 else f"{array[0]:.2f}"
