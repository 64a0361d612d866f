"""Does the default recipe train long enough? Test accuracy with its number of steps, and with twice as many.

    python bench/recipe.py --data-dir DATA --results results/recipe.jsonl

Sets: TREC with 100, 500 and all rows, BANKING77 with 5 and 10 rows an intent; everything else is the default of
`salience train`. Where TREC's training rows are drawn, the rows that were not drawn are tested on beside the 500 of
the test file: 500 questions alone leave a gain uncertain by more than a point. A run is a line in the results file;
runs that stand there are not run again, so that the script can be stopped and started. At the end it prints, for each
set, the mean over seeds of both and of their difference.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from runs import drawn, make_missing, measured, read
from salience.data.task import default_share
from salience.reproduce.results import Results
from salience.training.recipe import Recipe

SETS = {  # name: (folder, training file, rows drawn from it or None for all)
    "trec-100": ("trec", "train", 100),
    "trec-500": ("trec", "train", 500),
    "trec": ("trec", "train", None),
    "banking-5": ("banking77", "fewshot_train_5", None),
    "banking-10": ("banking77", "fewshot_train_10", None),
}


def run(name: str, seed: int, factor: int, method: str, data_dir: Path) -> dict:
    """One run with the default number of steps times `factor`."""
    folder, file, count = SETS[name]
    rows, left = drawn(read(data_dir / folder / f"{file}.jsonl.gz"), count, seed)
    test = read(data_dir / folder / "test.jsonl.gz") + left
    kept = len(rows) - round(default_share(len(rows)) * len(rows))
    classes = len({row["label"] for row in rows})
    steps = Recipe("").resolved(kept, classes, 384).steps * factor
    found = measured(rows, test, method=method, seed=seed, steps=steps)
    del found["notes"]
    return {"set": name, "seed": seed, "factor": factor, "method": method} | found


def summary(found: list[dict]) -> None:
    """A line a set: accuracy in percent with both numbers of steps, and the gain seed by seed."""
    for key in dict.fromkeys((row["set"], row["method"]) for row in found):
        by = {
            (row["seed"], row["factor"]): 100 * row["accuracy"] for row in found if (row["set"], row["method"]) == key
        }
        seeds = sorted(seed for seed, factor in by if factor == 1 and (seed, 2) in by)
        if not seeds:
            continue
        once, twice = (np.array([by[seed, factor] for seed in seeds]) for factor in (1, 2))
        gain = twice - once
        print(f"{key[0]:11} {key[1]:6} {once.mean():6.2f} -> {twice.mean():6.2f}, gain {gain.mean():+.2f} "
              f"({', '.join(f'{value:+.2f}' for value in gain)})")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--results", type=Path, default=Path("results/recipe.jsonl"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--factors", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--method", default="plain")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    results = Results(options.results)
    cells = (
        {"set": name, "seed": seed, "factor": factor, "method": options.method}
        for seed in options.seeds for name in options.sets for factor in options.factors
    )  # fmt: skip
    make_missing(results, cells, lambda cell: run(*cell.values(), options.data_dir))
    summary(results.rows())


if __name__ == "__main__":
    main()
