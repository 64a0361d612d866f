"""Does training in bf16 cost accuracy? Classifiers trained and tested in bf16 and in fp32, paired by set and seed.

    python bench/precision.py --data-dir DATA --results results/precision.jsonl --threads 1

Each pair has the same rows, split, first weights and batches. 500 rows (770 of BANKING77) are drawn from each
set's training file, and 2,000 of the rows that were not drawn are tested on, so that the sets' test files stay
untouched. Everything else is the default of `salience train`. A run is a line in the results file; runs
that stand there are not run again. At the end the script prints the paired differences with 95 % intervals: for
each set over its seeds, and over all pairs. Time is the processor's, of the whole run.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from runs import drawn, make_missing, measured, read
from salience.comparison.statistics import difference
from salience.reproduce.results import Results

PRECISIONS = ("fp32", "bf16")
SETS = {"trec": 500, "sst2": 500, "mr": 500, "subj": 500, "ag_news": 500, "banking77": 770}  # training rows
TEST_ROWS = 2000
SCORES = {"accuracy": 100, "calibration_error": 100, "log_loss": 1}  # score: factor in the table


def run(name: str, seed: int, precision: str, method: str, data_dir: Path) -> dict:
    rows, left = drawn(read(data_dir / name / "train.jsonl.gz"), SETS[name], seed)
    found = measured(rows, left[:TEST_ROWS], method=method, seed=seed, precision=precision)
    del found["notes"]
    return {"set": name, "seed": seed, "precision": precision, "method": method} | found


def summary(found: list[dict]) -> None:
    """bf16 minus fp32 for every score, and the ratio of the times."""
    by = {(row["set"], row["seed"], row["precision"]): row for row in found}
    pairs = [(name, seed) for name, seed, precision in by if precision == "bf16" and (name, seed, "fp32") in by]
    sets = dict.fromkeys(name for name, _ in pairs)
    for title, chosen in [*((name, [pair for pair in pairs if pair[0] == name]) for name in sets), ("all", pairs)]:
        if len(chosen) < 2:
            continue
        cells = []
        for score, factor in SCORES.items():
            half, full = (
                [factor * by[*pair, precision][score] for pair in chosen] for precision in reversed(PRECISIONS)
            )
            cells.append(f"{score} {np.mean(full):.3f}, {difference(half, full)}")
        ratios = [by[*pair, "bf16"]["processor_seconds"] / by[*pair, "fp32"]["processor_seconds"] for pair in chosen]
        print(f"{title} ({len(chosen)} pairs): {'; '.join(cells)}; time x {np.median(ratios):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--results", type=Path, default=Path("results/precision.jsonl"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(10)))
    parser.add_argument("--method", default="plain")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    results = Results(options.results)
    cells = (
        {"set": name, "seed": seed, "precision": precision, "method": options.method}
        for seed in options.seeds for name in options.sets for precision in PRECISIONS
    )  # fmt: skip
    make_missing(results, cells, lambda cell: run(*cell.values(), options.data_dir))
    summary(results.rows())


if __name__ == "__main__":
    main()
