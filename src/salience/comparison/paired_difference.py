"""The result of comparing a method with a baseline by one score, over data sets, samples and test rows."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from numpy.typing import ArrayLike

from salience.comparison.interval import LEAST_SPREAD, half_of, levels, paired_interval, satterthwaite
from salience.comparison.significance import holm, sign_flip_p
from salience.comparison.variation import Difference, paired, variation


@dataclass(frozen=True)
class DrawsNeeded:
    """How many samples of every data set make an interval narrow enough."""

    draws: float  # infinity if no number is enough
    half_width: float  # that they give at most
    by_rows: float  # the half width that the test rows alone give, with however many draws

    def __str__(self) -> str:
        """'12', or why no number is enough."""
        if math.isinf(self.draws):
            return f"no number of seeds: the test rows alone give ±{self.by_rows:.2f}"
        return f"{self.draws:.0f}"


def draws_needed(
    differences: Sequence[ArrayLike], half_width: float = 0.5, over_rows: bool = True, comparisons: int = 1
) -> DrawsNeeded | None:
    """The least number of samples whose interval on these data sets has a half width of at most `half_width`.

    It takes the observed spreads for the true ones, and the quantile of t that so many samples have. The interval over
    other data sets can stay wider: more samples do not make more sets. None if a set has a single sample, or if all
    differences are equal. Arguments as of `paired_interval`.
    """
    sets = [variation(values) for values in differences]
    by_draws, *by_rows = levels(sets, over_rows)
    if not math.sqrt(by_draws.variance + sum(part.variance for part in by_rows)) > LEAST_SPREAD:
        return None

    def half(draws: int) -> float:
        variances = [each.by_draws * each.draws / draws for each in sets]
        return half_of([satterthwaite(variances, [draws - 1] * len(sets)), *by_rows], comparisons)

    alone = half_of(by_rows, comparisons)
    if alone >= half_width:
        return DrawsNeeded(math.inf, half_width, alone)
    enough = 2 + bisect_left(range(2, 2**62), -half_width, key=lambda draws: -half(draws))
    return DrawsNeeded(enough, half_width, alone)


@dataclass(frozen=True)
class PairedDifference(Difference):
    """A mean difference of a method from a baseline, with its 95 % interval and p-value."""

    p: float  # by `sign_flip_p`
    adjusted_p: float  # by Holm over the family of comparisons; p itself for a family of one
    needed: DrawsNeeded | None  # that make the interval on these data sets narrow enough; None if that cannot be said


def paired_difference(
    method: Sequence[ArrayLike],
    baseline: Sequence[ArrayLike],
    over_sets: bool = True,
    over_rows: bool = True,
    comparisons: int = 1,
    half_width: float = 0.5,
    seed: int = 0,
) -> PairedDifference:
    """Compares a method with a baseline by one score.

    Args:
        method: for each of S data sets the scores (D_s, N_s) of samples and test rows, or (D_s,) of samples.
        baseline: the same for the baseline, from the same samples and test rows in the same order.
        over_sets, over_rows, comparisons: as of `paired_interval`.
        half_width: for the samples needed, in the unit of the scores: half a point where these are in percent.
        seed: of the p-value, where signs are sampled.

    Raises:
        InputError: there are no scores, or the two do not have the same sets, samples and rows.
    """
    differences = paired(method, baseline)
    interval = paired_interval(differences, over_sets, over_rows, comparisons)
    p = sign_flip_p(differences, over_sets, over_rows, seed=seed)
    needed = draws_needed(differences, half_width, over_rows, comparisons)
    return PairedDifference(interval.mean, interval.low, interval.high, p, p, needed)


def adjusted(family: Sequence[PairedDifference]) -> list[PairedDifference]:
    """The same comparisons, with p-values adjusted by Holm over all of them."""
    values = holm([each.p for each in family])
    return [replace(each, adjusted_p=float(value)) for each, value in zip(family, values, strict=True)]
