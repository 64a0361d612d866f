"""What the interval of a mean difference says of a claim that one method is better than another: one of four verdicts.

The model: on S data sets, a method and its baseline are trained on the same samples of rows with the same seeds. The
differences of a set vary by samples around the set's own mean. A claim is one about the mean over these sets, with
their test rows: it says nothing of other sets. The variance of the mean pools those of the sets, each from its own
samples, since sets differ in their spread. There is none if a set has a single sample. The degrees of freedom are
Welch's (1947, Biometrika 34, 28-35), which keep what few samples of many sets tell: with equal spreads the intervals
cover as Student's do, where those of Satterthwaite (1946) are too wide (two samples of six sets: 98 % instead of 95
%). What other sets like these would give is another interval, Student's over the means of the sets. It is told
too, and decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from salience.comparison.interval import LEAST_SPREAD, Level, half_of, paired_interval
from salience.comparison.significance import holm
from salience.comparison.variation import Difference, variation

POINT = 1.0  # a gain that would matter, in the unit of the scores
GAIN, LOSS, NO_GAIN, TOO_FEW = "gain", "loss", "no gain of a point", "too few runs"
ALPHA = 0.05


def verdict(found: Difference, adjusted_p: float = 0.0) -> str:
    """The first verdict that fits: a gain (the interval is above 0), a loss (below), no gain of a point, too few runs.

    No gain of a point: the interval has 0 in it, and nothing that is further than one point from it. In a family of
    claims, a gain or a loss also needs a p-value of at most 0.05 after Holm's correction.
    """
    if found.low is None or found.high is None:
        return TOO_FEW
    if adjusted_p <= ALPHA and found.beyond_chance:
        return GAIN if found.low > 0 else LOSS
    return NO_GAIN if -POINT <= found.low <= 0 <= found.high <= POINT else TOO_FEW


@dataclass(frozen=True)
class Judged:
    """A claim, judged by itself and as one of a family.

    Attributes:
        found: the mean difference on these sets, with its 95 % interval.
        over_sets: the interval of other sets like these.
        adjusted_p: the p-value of `found` by Student's t, adjusted by Holm over the family.
        verdict: of the claim by itself.
        corrected: the verdict with Holm's correction. "No gain of a point" then needs an interval that holds together
            with those of the whole family (Bonferroni).
    """

    found: Difference
    over_sets: Difference
    adjusted_p: float
    verdict: str
    corrected: str


def judged(family: Sequence[Sequence[ArrayLike]]) -> list[Judged]:
    """Judges each claim of a family by its differences (D_s,) on each of its S data sets."""
    parts = [mean_and_level(claim) for claim in family]
    p_values = {place: p_of(mean, level) for place, (mean, level) in enumerate(parts) if level is not None}
    raised = dict(zip(p_values, holm([*p_values.values()]).tolist(), strict=True))
    found = []
    for place, (claim, (mean, level)) in enumerate(zip(family, parts, strict=True)):
        own, together = (interval_of(mean, level, comparisons) for comparisons in (1, max(1, len(p_values))))
        p = raised.get(place, 1.0)
        # A claim that Holm's correction rejects keeps its own interval: its sign is what was tested.
        corrected = verdict(own if p <= ALPHA else together, p)
        over_sets = paired_interval(claim, over_rows=False) if len(claim) > 1 else Difference(mean, None, None)
        found.append(Judged(own, over_sets, p, verdict(own), corrected))
    return found


def mean_and_level(differences: Sequence[ArrayLike]) -> tuple[float, Level | None]:
    """The mean over the sets, and its variance by samples; None if a set has a single sample, or if nothing varies."""
    sets = [variation(values) for values in differences]
    mean, variances = float(np.mean([each.mean for each in sets])), np.array([each.by_draws for each in sets])
    total = float(variances.sum())
    if not math.sqrt(total) / len(sets) > LEAST_SPREAD:  # NaN for a single draw
        return mean, None
    degrees = total**2 / sum(each**2 / (of.draws + 1) for each, of in zip(variances, sets, strict=True)) - 2
    return mean, Level(total / len(sets) ** 2, float(degrees))


def interval_of(mean: float, level: Level | None, comparisons: int = 1) -> Difference:
    """The mean with its interval; without one if nothing is known of its variance."""
    if level is None:
        return Difference(mean, None, None)
    half = half_of([level], comparisons)
    return Difference(mean, mean - half, mean + half)


def p_of(mean: float, level: Level) -> float:
    """The two-sided p-value of the mean, by Student's t."""
    return float(2 * stdtr(level.degrees, -abs(mean) / math.sqrt(level.variance)))
