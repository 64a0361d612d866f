"""How often intervals of a paired difference cover the true one, and how often p-values are below 0.05.

Method and baseline are equal: the true difference is 0. Whether a test row is right follows a threshold on normal
values of the row, of the method on the row, of the run, and of run and row together; about 90 % of rows are right. The
difference varies by `--draws-sd` points over draws, and by `--sets-sd` points over data sets if sets are drawn. The
candidates:

- percentile: percentiles of the hierarchical bootstrap.
- normal: unbiased variances of draws and rows, with the normal distribution's quantile.
- one t: the same with the quantile of Student's t, degrees of freedom by Satterthwaite over draws and rows together.
- bootstrap-t: percentiles of the bootstrap's t statistics.
- ours: `salience.comparison.interval`.

Printed are the percent of intervals that cover 0, the median half width in points, and the percent of p-values of at
most 0.05: with the test rows' part, and by flipping signs of draws alone, which is about these test rows.

    python bench/interval_coverage.py --sets 1
    python bench/interval_coverage.py --sets 1 --draws-sd 6 --rows 300
    python bench/interval_coverage.py --over-sets --sets 3 8 --draws 3 10 --rows 300
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit
from scipy.stats import norm

from salience.comparison.interval import between_sets, levels, paired_interval, satterthwaite
from salience.comparison.significance import sign_flip_p
from salience.comparison.variation import variation

EASY, BY_METHOD, BY_RUN = 1.35, 0.3, 0.3  # mean of a row's value, and standard deviations; that of rows is 1
POINTS = 100 * norm.pdf(EASY / (1 + BY_METHOD**2 + BY_RUN**2) ** 0.5) / (1 + BY_METHOD**2 + BY_RUN**2) ** 0.5
CELLS = 200_000  # weights of the bootstrap made at once: they stay in the processor's cache
UNBOUNDED = 1000  # points: the bootstrap's own errors are 0 in more than 2.5 % of its replicates


def null_differences(
    generator: np.random.Generator, sets: int, draws: int, rows: int, draws_sd: float, sets_sd: float = 0.0
) -> list[np.ndarray]:
    """Differences (D, N) of a method from an equal one, in points, for each of S data sets."""
    differences = []
    for _ in range(sets):
        value = generator.normal(EASY, 1, rows) + generator.normal(0, BY_METHOD, (2, 1, rows))
        value = value + generator.normal(0, draws_sd / POINTS / 2**0.5, (2, draws, 1))
        value = value + generator.normal(0, sets_sd / POINTS / 2**0.5, (2, 1, 1))
        right = value + generator.normal(0, BY_RUN, (2, draws, rows)) > 0
        differences.append(100.0 * right[0] - 100.0 * right[1])
    return differences


def replicates(
    differences: Sequence[ArrayLike], over_sets: bool = True, count: int = 10_000, seed: int = 0
) -> np.ndarray:
    """Means over data sets of differences that are drawn with replacement.

    A replicate draws S of the S data sets, or keeps them. In each it draws D_s draws and, independently, N_s rows that
    are the same for all of its draws. A set that is drawn twice is resampled twice. The mean weighs all sets equally.

    Args:
        differences: for each of S data sets (D_s, N_s), or (D_s,).
        over_sets: whether sets are drawn too.
        count: B, number of replicates.
        seed: of the random numbers.

    Returns:
        The means (B,).
    """
    generator = np.random.default_rng(seed)
    sets = len(differences)
    if over_sets:
        chosen = generator.integers(sets, size=(count, sets))
    else:
        chosen = np.tile(np.arange(sets), (count, 1))
    means = np.empty((count, sets))
    for number, values in enumerate(differences):
        places = chosen == number
        means[places] = replicates_of_set(np.asarray(values, float), int(places.sum()), generator)
    return means.mean(1)


def replicates_of_set(values: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """Means (B,) of `values` (D, N) or (D,), with draws and rows drawn with replacement.

    Args:
        values: the differences.
        count: B.
        generator: of the random numbers.
    """
    values = values.reshape(len(values), -1)
    at_once = max(CELLS // values.shape[1], 1)
    means = [
        np.einsum(
            "bd,bd->b", weights(values.shape[0], some, generator), weights(values.shape[1], some, generator) @ values.T
        )
        for some in np.diff([*range(0, count, at_once), count])
    ]
    return np.concatenate(means) if means else np.empty(0)


def weights(items: int, count: int, generator: np.random.Generator) -> np.ndarray:
    """How often each of n items is drawn in n draws with replacement, divided by n: (B, n).

    Args:
        items: n.
        count: B.
        generator: of the random numbers.
    """
    drawn = generator.integers(items, size=(count, items), dtype=np.int32) + items * np.arange(count)[:, None]
    return np.bincount(drawn.ravel(), minlength=count * items).reshape(count, items) / items


def resampled(values: np.ndarray, count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Means (B,) of resampled differences (D, N) and their estimated variances (B,), those of `Variation`."""
    draws, rows = values.shape
    of_draws, of_rows = weights(draws, count, generator), weights(rows, count, generator)
    by_draw = of_rows @ values.T
    mean = (of_draws * by_draw).sum(1)
    products = (of_rows @ (values[:, None] * values[None]).reshape(-1, rows).T).reshape(count, draws, draws)
    draw_part = (of_draws * by_draw**2).sum(1) - mean**2
    row_part = np.einsum("bd,bde,be->b", of_draws, products, of_draws) - mean**2
    rest = np.einsum("bd,bdd->b", of_draws, products) - mean**2 - draw_part - row_part
    rest = rest / ((draws - 1) * (rows - 1))
    variance = np.maximum(draw_part / (draws - 1), rest) + np.maximum(row_part / (rows - 1) - rest, 0)
    return mean, np.maximum(variance, 1e-12)


def bootstrap_t(differences: Sequence[np.ndarray], over_sets: bool, count: int, seed: int) -> tuple[float, float]:
    generator = np.random.default_rng(seed)
    sets = [variation(values) for values in differences]
    observed, size = np.mean([each.mean for each in sets]), len(sets)
    if over_sets:
        means = np.stack([replicates_of_set(each, count, generator) for each in differences])
        means = np.take_along_axis(means, generator.integers(size, size=means.shape), 0)
        error, errors = between_sets(sets).variance ** 0.5, (means.var(0, ddof=1) / size) ** 0.5
    else:
        found = [resampled(each, count, generator) for each in differences]
        means, variances = np.stack([each[0] for each in found]), np.stack([each[1] for each in found])
        error, errors = sum(part.variance for part in levels(sets)) ** 0.5, variances.sum(0) ** 0.5 / size
    statistics = (means.mean(0) - observed) / np.maximum(errors, 1e-9)
    low, high = np.quantile(statistics, [0.025, 0.975])
    return observed - high * error, observed - low * error


def candidates(
    differences: Sequence[np.ndarray], over_sets: bool, count: int, seed: int
) -> dict[str, tuple[float, float]]:
    """The bounds of every candidate's interval."""
    sets = [variation(values) for values in differences]
    mean = np.mean([each.mean for each in sets])
    parts = [between_sets(sets)] if over_sets else levels(sets)
    error = sum(part.variance for part in parts) ** 0.5
    one = satterthwaite([part.variance for part in parts], [part.degrees for part in parts])
    of_t = error * stdtrit(one.degrees, 0.975)
    low, high = np.quantile(replicates(differences, over_sets, count, seed), [0.025, 0.975])
    ours = paired_interval(differences, over_sets)
    return {
        "percentile": (low, high),
        "normal": (mean - 1.96 * error, mean + 1.96 * error),
        "one t": (mean - of_t, mean + of_t),
        "bootstrap-t": bootstrap_t(differences, over_sets, count, seed),
        "ours": (ours.low or 0.0, ours.high or 0.0),
    }


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--draws", type=int, nargs="+", default=[3, 5, 10])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--draws-sd", type=float, default=1.5)
    parser.add_argument("--sets-sd", type=float, default=1.0)
    parser.add_argument("--over-sets", action="store_true")
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--replicates", type=int, default=300)
    options = parser.parse_args()
    generator = np.random.default_rng(0)
    names = ["percentile", "normal", "one t", "bootstrap-t", "ours"]
    print(f"| sets | draws | {' | '.join(names)} | p | p by draws alone |\n|{'---|' * (len(names) + 4)}")
    for sets in options.sets:
        for draws in options.draws:
            bounds, found = [], []
            for seed in range(options.simulations):
                differences = null_differences(
                    generator, sets, draws, options.rows, options.draws_sd, options.sets_sd * options.over_sets
                )
                bounds.append(list(candidates(differences, options.over_sets, options.replicates, seed).values()))
                found.append(
                    [sign_flip_p(differences, options.over_sets, over_rows, 499, seed) for over_rows in (True, False)]
                )
            low, high = np.moveaxis(np.array(bounds), 2, 0)
            covered, width = ((low <= 0) & (high >= 0)).mean(0), np.median(high - low, 0) / 2
            widths = [f"±{half:.1f}" if half < UNBOUNDED else "no bound" for half in width]
            cells = [f"{100 * share:.1f} ({half})" for share, half in zip(covered, widths, strict=True)]
            cells += [f"{100 * share:.1f}" for share in (np.array(found) <= 0.05).mean(0)]
            print(f"| {sets} | {draws} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
