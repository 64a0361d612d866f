"""What a paired difference varies with: its sums of squares over samples, over test rows, and over both.

A method and a baseline are trained on D samples of the rows of a data set, and every sample is tested on the same N
test rows. So samples and rows are crossed: x_dn = mean + draw_d + row_n + rest_dn. Searle, Casella and McCulloch
(1992), Variance Components, chapter 4, on balanced data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import ttest_rel

from salience.errors import InputError


@dataclass(frozen=True)
class Difference:
    """A mean difference with the bounds of its confidence interval, which are None if none can be computed."""

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
        values, baseline: (S,), one value a run.
        comparisons: number of intervals that are shown together, and hold together at 95 % (Bonferroni).
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


@dataclass(frozen=True)
class Variation:
    """The differences on one data set, summed up."""

    mean: float
    draws: int  # D
    rows: int  # N; 1 if a draw has one number only
    of_draws: float  # the sum of squares of the D means over rows around the mean
    of_rows: float  # the sum of squares of the N means over draws around the mean
    of_rest: float  # the sum of squares (D, N) of what the means of draws and of rows do not explain

    @property
    def by_draws(self) -> float:
        """The variance of the mean by samples, without bias: NaN for a single sample.

        It is at least what the rest alone would give. Few test rows can give every sample the same mean by accident.
        """
        if self.draws < 2:
            return np.nan
        return max(self.of_draws / (self.draws * (self.draws - 1)), self._by_rest)

    @property
    def by_rows(self) -> float:
        """The variance of the mean by test rows, without the rest, which `by_draws` has; 0 for one number a sample."""
        if self.rows < 2:
            return 0.0
        return max(self.of_rows / (self.rows * (self.rows - 1)) - self._by_rest, 0.0)

    @property
    def _by_rest(self) -> float:
        degrees = (self.draws - 1) * (self.rows - 1)
        return self.of_rest / (degrees * self.draws * self.rows) if degrees else 0.0


def variation(differences: ArrayLike) -> Variation:
    """Sums up the differences (D, N) on one data set, or (D,) if a sample has one number only."""
    values = np.asarray(differences, float)
    values = values.reshape(len(values), -1)
    mean, by_draw, by_row = values.mean(), values.mean(1), values.mean(0)
    rest = values - by_draw[:, None] - by_row + mean
    return Variation(
        float(mean), *values.shape, *(float(np.square(part).sum()) for part in (by_draw - mean, by_row - mean, rest))
    )


def paired(method: Sequence[ArrayLike], baseline: Sequence[ArrayLike]) -> list[np.ndarray]:
    """The differences of a method from a baseline, set by set; arguments as of `paired_difference`."""
    pairs = [(np.asarray(one, float), np.asarray(other, float)) for one, other in zip(method, baseline, strict=False)]
    if len(method) != len(baseline) or not pairs:
        raise InputError(
            f"the method has scores of {len(method)} data sets and the baseline of {len(baseline)}: "
            "run both on the same data sets"
        )
    for number, (one, other) in enumerate(pairs, 1):
        if one.shape != other.shape or one.ndim not in (1, 2) or not one.size:
            raise InputError(
                f"data set {number}: the method's scores are {one.shape} and the baseline's {other.shape}: "
                "run both on the same samples and test rows"
            )
        if not np.isfinite([one, other]).all():
            raise InputError(f"data set {number}: a score is not a finite number: run its sample again")
    return [one - other for one, other in pairs]
