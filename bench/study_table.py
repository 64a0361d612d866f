"""The differences of a study's variants from its baseline, from the table of its runs: one row a variant and size.

    python bench/study_table.py results/studies/recipe.csv
    python bench/study_table.py results/studies/recipe.csv --baseline mean --scores accuracy log_loss
    python bench/study_table.py results/studies/default.csv results/studies/default-gpu.csv --sizes 100
    python bench/study_table.py results/studies/default-gpu.csv --means --scores accuracy

`bench/study.py` adds the runs of each of its calls to the table, so that a study can be made in parts. Of several
tables, from several machines, say, runs are compared with the baseline of their own table.
`salience compare` resamples draws and test rows, for which it needs the predictions; this table needs scores only. A
difference is paired by set, size and seed. It is averaged over the seeds of a set, and then over the sets, which
count alike. The interval is that of Student's t over the sets: what other sets like these would give. It is not
corrected for the number of variants. A star marks a difference whose p-value, of the same t, is at most 0.05 after
Holm's correction over the variants of the same size.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

from salience.comparison.significance import holm

KEY = ["table", "data", "model", "size", "seed"]
LEVEL = 0.05
PERCENT = (
    "accuracy",
    "macro_f1",
    "accuracy_typos",
    "accuracy_dropped_words",
    "foreign_auroc",
    "ranking_precision",
    "micro_f1",
)


def runs_in(tables: Sequence[Path]) -> pd.DataFrame:
    """The runs of all tables, with the number of their table in the column "table"."""
    return pd.concat([pd.read_csv(file).assign(table=number) for number, file in enumerate(tables)], ignore_index=True)


def paired(runs: pd.DataFrame, baseline: str, score: str) -> pd.DataFrame:
    """The differences of all runs from the baseline's run of the same table, set, size and seed.

    Returns:
        Columns "method", those of `KEY`, and "difference". Runs without a partner are left out.
    """
    wanted = runs[[*KEY, "method", score]]
    base = wanted[wanted["method"] == baseline].drop(columns="method")
    both = wanted[wanted["method"] != baseline].merge(base, on=KEY, suffixes=("", "_of_baseline"))
    return both.assign(difference=both[score] - both[f"{score}_of_baseline"])[["method", *KEY, "difference"]]


class Mean(NamedTuple):
    """A mean difference over sets, the bounds of its 95 % interval and its p-value.

    A single set has infinite bounds and no p-value (nan): it says nothing about others.
    """

    mean: float
    low: float
    high: float
    p: float


def over_sets(differences: pd.DataFrame) -> Mean:
    """The mean over sets of the differences that `paired` returns, at least one."""
    means = differences.groupby(["data", "model"])["difference"].mean().to_numpy()
    if len(means) < 2:
        return Mean(float(means.mean()), -np.inf, np.inf, np.nan)
    found = ttest_1samp(means, 0.0)
    return Mean(float(means.mean()), *found.confidence_interval(1 - LEVEL), found.pvalue)


def beyond_chance(family: Sequence[Mean]) -> list[bool]:
    """Whether each difference of a family is significant after Holm's correction over those that have a p-value."""
    p_values = np.array([each.p for each in family])
    tested = ~np.isnan(p_values)
    adjusted = np.ones(len(family))
    adjusted[tested] = holm(p_values[tested])
    return (adjusted <= LEVEL).tolist()


def rows_of(runs: pd.DataFrame, baseline: str, score: str) -> dict[tuple[str, str], pd.DataFrame]:
    """The paired differences of each row of the table, by variant and size; the size is "all" for several together."""
    rows = {}
    for method in [name for name in dict.fromkeys(runs["method"]) if name != baseline]:
        own = paired(runs[runs["method"].isin([baseline, method])], baseline, score)
        parts = {str(size): own[own["size"] == size] for size in sorted(own["size"].unique())}
        rows |= {(method, size): part for size, part in (parts | ({"all": own} if len(parts) > 1 else {})).items()}
    return rows


def cells_of(rows: dict[tuple[str, str], pd.DataFrame], digits: int) -> dict[tuple[str, str], str]:
    """The difference, its interval and its star in each row of a score; a family are the variants of one size."""
    means = {key: over_sets(each) for key, each in rows.items()}
    cells = {}
    for size in dict.fromkeys(size for _, size in rows):
        family = [key for key in rows if key[1] == size]
        stars = beyond_chance([means[key] for key in family])
        for key, star in zip(family, stars, strict=True):
            mean, low, high, _ = means[key]
            cells[key] = f"{mean:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]{'*' * star}"
    return cells


def table(runs: pd.DataFrame, baseline: str, scores: list[str]) -> str:
    """The differences in Markdown: of each size, and of all sizes of a set together if there are several."""
    lines = [f"| against {baseline} | rows | sets | runs | {' | '.join(scores)} |", "|---" * (4 + len(scores)) + "|"]
    of_scores = {score: rows_of(runs, baseline, score) for score in scores}
    cells = {score: cells_of(rows, 1 if score in PERCENT else 3) for score, rows in of_scores.items()}
    for (method, size), first in of_scores[scores[0]].items():
        shown = " | ".join(cells[score][method, size] for score in scores)
        lines.append(f"| {method} | {size} | {first['data'].nunique()} | {len(first)} | {shown} |")
    return "\n".join(lines)


def shared(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of one size, of the seeds that every variant of a set has: means over others are of other rows."""
    of_seed = runs.groupby(KEY)["method"].transform("nunique")
    return runs[of_seed == runs.groupby("data")["method"].transform("nunique")]


def means(runs: pd.DataFrame, score: str) -> str:
    """The mean of a score over the `shared` runs of each variant, size and set, in Markdown; some lack a set."""
    digits = 1 if score in PERCENT else 3
    sets = list(dict.fromkeys(runs["data"]))
    lines = [f"| rows | {score} | {' | '.join(sets)} |", "|---" * (2 + len(sets)) + "|"]
    for size, of_size in runs.groupby("size"):
        kept = shared(of_size)
        samples = kept.drop_duplicates(KEY)["data"].value_counts()
        lines.append(f"| {size} | samples | {' | '.join(str(samples.get(name, 0)) for name in sets)} |")
        for method in dict.fromkeys(of_size["method"]):
            of_sets = kept[kept["method"] == method].groupby("data")[score].mean()
            cells = [f"{of_sets[name]:.{digits}f}" if name in of_sets else "-" for name in sets]
            lines.append(f"| {size} | {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Prints the table of a study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--baseline", help="default: the variant of the first run")
    parser.add_argument("--variants", nargs="+", help="what is compared with the baseline; default: all")
    parser.add_argument("--sets", nargs="+", help="default: all")
    parser.add_argument("--sizes", nargs="+", type=int, help="default: all")
    parser.add_argument(
        "--scores", nargs="+", default=["accuracy", "log_loss", "equal_mass_calibration_error", "seconds"]
    )
    parser.add_argument(
        "--means",
        action="store_true",
        help="the mean scores of each set, over the seeds that all variants of it have, in place of differences",
    )
    options = parser.parse_args()
    runs = runs_in(options.runs)
    if options.sets:
        runs = runs[runs["data"].isin(options.sets)]
    if options.sizes:
        runs = runs[runs["size"].isin(options.sizes)]
    baseline = options.baseline or runs["method"].iloc[0]
    if options.variants:
        runs = runs[runs["method"].isin([baseline, *options.variants])]
    if options.means:
        print("\n\n".join(means(runs, score) for score in options.scores))
    else:
        print(table(runs, baseline, options.scores))


if __name__ == "__main__":
    main()
