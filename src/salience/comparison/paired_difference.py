"""The result of comparing a method with a baseline by one score, over data sets, draws and test rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from numpy.typing import ArrayLike

from salience.comparison.draws import DrawsNeeded, draws_needed
from salience.comparison.interval import paired_interval
from salience.comparison.significance import holm, sign_flip_p
from salience.comparison.statistics import Difference
from salience.comparison.variation import paired


@dataclass(frozen=True)
class PairedDifference(Difference):
    """A mean difference of a method from a baseline, with its 95 % interval and p-value.

    Attributes:
        p: by `sign_flip_p`.
        adjusted_p: by Holm over the family of comparisons; p itself for a family of one.
        needed: the draws that make the interval on these data sets narrow enough; None if that cannot be said.
    """

    p: float
    adjusted_p: float
    needed: DrawsNeeded | None


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
        method: for each of S data sets the scores (D_s, N_s) of draws and test rows, or (D_s,) of draws.
        baseline: the same for the baseline, from the same draws and test rows in the same order.
        over_sets: whether the claim is about other data sets like these. With one data set it is about that set.
        over_rows: whether a claim about these data sets is about other test rows of theirs.
        comparisons: number of intervals that are shown together, which hold together at 95 %.
        half_width: for the draws needed, in the unit of the scores: half a point where these are in percent.
        seed: of the p-value, where signs are drawn.

    Raises:
        InputError: there are no scores, or the two do not have the same sets, draws and rows.
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
