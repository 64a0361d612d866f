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
import csv
import gzip
import json
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from salience.data.task import default_share
from salience.training.recipe import Recipe
from salience.training.run import train

SETS = {  # name: (folder, training file, rows drawn from it or None for all)
    "trec-100": ("trec", "train", 100),
    "trec-500": ("trec", "train", 500),
    "trec": ("trec", "train", None),
    "banking-5": ("banking77", "fewshot_train_5", None),
    "banking-10": ("banking77", "fewshot_train_10", None),
}


def read(file: Path) -> list[dict]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def drawn(rows: list[dict], count: int | None, seed: int) -> tuple[list[dict], list[dict]]:
    """`count` rows, every class in proportion but two rows at least, so that one can be held out; and the rest."""
    if count is None:
        return rows, []
    random = np.random.default_rng(seed)
    shuffled = [rows[index] for index in random.permutation(len(rows))]
    quota = {
        label: max(2, round(number * count / len(rows))) for label, number in Counter(r["label"] for r in rows).items()
    }
    kept, left = [], []
    for row in shuffled:
        (kept if quota[row["label"]] > 0 else left).append(row)
        quota[row["label"]] -= 1
    known = {row["text"] for row in kept}
    return kept, [row for row in left if row["text"] not in known]


def write_csv(file: Path, rows: list[dict]) -> Path:
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["text", "label"])
        writer.writerows((row["text"], row["label"]) for row in rows)
    return file


def measured(name: str, seed: int, factor: int, method: str, data_dir: Path) -> dict:
    """One run with the default number of steps times `factor`."""
    folder, file, count = SETS[name]
    rows, left = drawn(read(data_dir / folder / f"{file}.jsonl.gz"), count, seed)
    classes = len({row["label"] for row in rows})
    with TemporaryDirectory() as work:
        data = write_csv(Path(work) / "train.csv", rows)
        test = write_csv(Path(work) / "test.csv", read(data_dir / folder / "test.jsonl.gz") + left)
        recipe = Recipe(data=str(data), test=str(test), method=method, seed=seed)
        kept = len(rows) - round(default_share(len(rows)) * len(rows))
        steps = recipe.resolved(kept, classes, 384).steps * factor
        started = time.time()
        run = train(Recipe(data=str(data), test=str(test), method=method, seed=seed, steps=steps), Path(work) / "run",
                    note=lambda line: None)  # fmt: skip
    return {
        "set": name, "rows": len(rows), "test_rows": run.metrics["rows"]["test"], "seed": seed, "factor": factor,
        "method": method, "steps": steps,
        "stopped_at": run.metrics["steps"], "best_step": run.metrics["best_step"],
        "accuracy": run.metrics["test"]["accuracy"], "macro_f1": run.metrics["test"]["macro_f1"],
        "calibration_error": run.metrics["test"]["calibration_error"],
        "tfidf_accuracy": run.metrics["baselines"]["TF-IDF + logistic regression"]["accuracy"],
        "seconds": round(time.time() - started),
    }  # fmt: skip


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
    options.results.parent.mkdir(parents=True, exist_ok=True)

    def done() -> list[dict]:
        lines = options.results.read_text(encoding="utf-8").splitlines() if options.results.exists() else []
        return [json.loads(line) for line in lines]

    for seed in options.seeds:
        for name in options.sets:
            for factor in options.factors:
                wanted = {"set": name, "seed": seed, "factor": factor, "method": options.method}
                if any(wanted.items() <= row.items() for row in done()):
                    continue
                row = measured(name, seed, factor, options.method, options.data_dir)
                with options.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
                print(row, flush=True)
    summary(done())


if __name__ == "__main__":
    main()
