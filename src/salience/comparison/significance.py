"""p-values of paired differences by flipping signs, and their correction for several comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from salience.comparison.interval import Level, levels
from salience.comparison.variation import variation

MOST_EXACT = 16  # pairs whose 2^16 signs are all tried


def sign_flip_p(
    differences: Sequence[ArrayLike], over_sets: bool = True, over_rows: bool = True, count: int = 9_999, seed: int = 0
) -> float:
    """The two-sided p-value of a mean paired difference: Fisher's test by flipping the signs of pairs.

    Without a difference, each pair's difference might as well have the other sign. The p-value is the share of signs
    with a mean at least as far from 0 as the observed one (R. A. Fisher, 1935, The Design of Experiments, section 21).
    On these data sets, a pair is a sample of a data set. On other data sets, a pair is a data set: its samples do not
    vary independently of each other there.

    All 2^n signs are tried for up to 16 pairs. For more, `count` of them are sampled, and the observed one is counted
    with them, so that p is never 0: Phipson and Smyth (2010), Permutation P-values should never be zero, Statistical
    Applications in Genetics and Molecular Biology 9(1), article 39, doi 10.2202/1544-6115.1585. The least p-value of n
    pairs is 2^(1-n): 5 pairs cannot have one below 0.05.

    All samples of a set share its test rows, whose part in the mean no flip of samples can show. For a claim about
    other test rows, the mean of the flipped samples varies by the test rows too, with Student's t, and the larger
    p-value of the two counts. This is approximate; flipping alone is exact, about these test rows.

    Args:
        differences, over_sets, over_rows: as of `salience.comparison.interval.paired_interval`.
        count: number of signs that are sampled where they are not all tried.
        seed: of the sampled signs.
    """
    sets = [variation(values) for values in differences]
    if over_sets and len(sets) > 1:
        pairs = np.array([each.mean for each in sets]) / len(sets)
        by_rows = Level(0.0, 1)
    else:
        by_draw = [
            np.asarray(values, float).reshape(each.draws, -1).mean(1)
            for values, each in zip(differences, sets, strict=True)
        ]
        pairs = np.concatenate([means / (len(means) * len(sets)) for means in by_draw])
        by_rows = levels(sets)[1] if over_rows else Level(0.0, 1)
    observed = abs(pairs.sum()) * (1 - 1e-9)  # equal means differ by rounding errors
    if len(pairs) <= MOST_EXACT:
        signs = (np.arange(2 ** len(pairs))[:, None] >> np.arange(len(pairs)) & 1) * 2.0 - 1
        flipped, itself = signs @ pairs, 0  # the observed one is among all
    else:
        signs = np.random.default_rng(seed).integers(2, size=(count, len(pairs)), dtype=np.int8) * 2.0 - 1
        flipped, itself = signs @ pairs, 1
    by_signs, with_rows = (
        (itself + tails(flipped, observed, level).sum()) / (itself + len(flipped))
        for level in (Level(0.0, 1), by_rows)
    )
    return float(max(by_signs, with_rows))


def tails(means: np.ndarray, observed: float, error: Level) -> np.ndarray:
    """The probability (B,) that each mean with an error of Student's t added is at least `observed` away from 0."""
    if error.variance == 0:
        return (np.abs(means) >= observed).astype(float)
    scale = math.sqrt(error.variance)
    return stdtr(error.degrees, (means - observed) / scale) + stdtr(error.degrees, (-means - observed) / scale)


def holm(p_values: ArrayLike) -> np.ndarray:
    """Adjusted p-values (K,) of a family of K comparisons.

    Whoever rejects those of at most 0.05 rejects a true hypothesis anywhere in the family with a chance of at most
    0.05, however the comparisons depend on each other. The k-th smallest p-value is multiplied by K - k + 1; it is at
    least the adjusted ones of smaller p-values, and at most 1. Holm (1979), A simple sequentially rejective multiple
    test procedure, Scandinavian Journal of Statistics 6(2), 65-70.
    """
    values = np.asarray(p_values, float)
    order = np.argsort(values, kind="stable")
    raised = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)) if len(values) else values
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(raised, 1)
    return adjusted
