"""The differences of a study's variants from its baseline, from the table of its runs: one row a variant and size.

    python bench/study_table.py results/studies/recipe.csv
    python bench/study_table.py results/studies/recipe.csv --baseline mean --scores accuracy log_loss

`bench/study.py` adds the runs of each of its calls to the table, so that a study can be made in parts.
`salience compare` resamples draws and test rows, for which it needs the predictions; this table needs scores only. A
difference is paired by set, size and seed. It is averaged over the seeds of a set, and then over the sets, which count
alike. The interval is that of Student's t over the sets: what other sets like these would give.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t

KEY = ["data", "model", "size", "seed"]
PERCENT = (
    "accuracy",
    "macro_f1",
    "accuracy_typos",
    "accuracy_dropped_words",
    "foreign_auroc",
    "ranking_precision",
    "micro_f1",
)


def paired(runs: pd.DataFrame, baseline: str, score: str) -> pd.DataFrame:
    """The differences of all runs from the baseline's run of the same set, size and seed.

    Returns:
        Columns "method", those of `KEY`, and "difference". Runs without a partner are left out.
    """
    wanted = runs[[*KEY, "method", score]]
    base = wanted[wanted["method"] == baseline].drop(columns="method")
    both = wanted[wanted["method"] != baseline].merge(base, on=KEY, suffixes=("", "_of_baseline"))
    return both.assign(difference=both[score] - both[f"{score}_of_baseline"])[["method", *KEY, "difference"]]


def interval_over_sets(differences: pd.DataFrame) -> tuple[float, float, float]:
    """The mean over sets, and the bounds of its 95 % interval; infinite if there is a single set."""
    means = differences.groupby(["data", "model"])["difference"].mean().to_numpy()
    if len(means) < 2:
        return float(means.mean()), -np.inf, np.inf
    half = t.ppf(0.975, len(means) - 1) * means.std(ddof=1) / len(means) ** 0.5
    return float(means.mean()), float(means.mean() - half), float(means.mean() + half)


def table(runs: pd.DataFrame, baseline: str, scores: list[str]) -> str:
    """The differences in Markdown: of each size, and of all sizes of a set together if there are several."""
    lines = [f"| against {baseline} | rows | sets | runs | {' | '.join(scores)} |", "|---" * (4 + len(scores)) + "|"]
    for method in [name for name in dict.fromkeys(runs["method"]) if name != baseline]:
        own = runs[runs["method"].isin([baseline, method])]
        sizes = sorted(own[own["method"] == method]["size"].unique())
        for size in [*sizes, *["all"] * (len(sizes) > 1)]:
            part = own if size == "all" else own[own["size"] == size]
            found = {score: paired(part, baseline, score) for score in scores}
            first = found[scores[0]]
            if not len(first):
                continue
            cells = [
                "{:+{digits}} [{:+{digits}}, {:+{digits}}]".format(
                    *interval_over_sets(each), digits=".1f" if score in PERCENT else ".3f"
                )
                for score, each in found.items()
            ]
            lines.append(f"| {method} | {size} | {first['data'].nunique()} | {len(first)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Prints the table of a study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--baseline", help="default: the variant of the first run")
    parser.add_argument("--sizes", nargs="+", type=int)
    parser.add_argument(
        "--scores", nargs="+", default=["accuracy", "log_loss", "equal_mass_calibration_error", "seconds"]
    )
    options = parser.parse_args()
    runs = pd.read_csv(options.runs)
    if options.sizes:
        runs = runs[runs["size"].isin(options.sizes)]
    print(table(runs, options.baseline or runs["method"].iloc[0], options.scores))


if __name__ == "__main__":
    main()
