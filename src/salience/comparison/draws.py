"""How many draws of training rows a comparison needs until its interval is narrow enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from salience.comparison.interval import LEAST_SPREAD, half_of, levels, satterthwaite
from salience.comparison.variation import variation


@dataclass(frozen=True)
class DrawsNeeded:
    """How many draws of every data set make an interval narrow enough.

    Attributes:
        draws: the number; infinity if no number is enough.
        half_width: the half width that they give at most.
        by_rows: the half width that the test rows alone give, with however many draws.
    """

    draws: float
    half_width: float
    by_rows: float

    def __str__(self) -> str:
        """'12', or why no number is enough."""
        if math.isinf(self.draws):
            return f"no number of draws: the test rows alone give ±{self.by_rows:.2f}"
        return f"{self.draws:.0f}"


def draws_needed(
    differences: Sequence[ArrayLike], half_width: float = 0.5, over_rows: bool = True, comparisons: int = 1
) -> DrawsNeeded | None:
    """The least number of draws whose interval on these data sets has a half width of at most `half_width`.

    It takes the observed spreads for the true ones, and the quantile of t that so many draws have. The interval over
    other data sets can stay wider: more draws do not make more sets.

    Args:
        differences: for each of S data sets (D_s, N_s), or (D_s,).
        half_width: in the unit of the differences.
        over_rows: as for `paired_interval`.
        comparisons: as for `paired_interval`.

    Returns:
        None if a set has a single draw, or if all differences are equal.
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
    enough = 2
    while half(enough) > half_width:
        enough *= 2
    too_few = max(enough // 2, 1)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (middle, enough) if half(middle) > half_width else (too_few, middle)
    return DrawsNeeded(enough, half_width, alone)
