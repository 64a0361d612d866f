"""Training runs as `salience train` makes them, on rows that are drawn from a data set."""

from __future__ import annotations

import csv
import gzip
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from salience.reproduce.results import Results
from salience.training.recipe import Recipe
from salience.training.run import train


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


def write_csv(file: Path, rows: list[dict]) -> str:
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["text", "label"])
        writer.writerows((row["text"], row["label"]) for row in rows)
    return str(file)


def make_missing(results: Results, cells: Iterable[dict], run: Callable[[dict], dict]) -> None:
    """Makes the runs that the results file lacks, and adds a line for each as it ends.

    Args:
        cells: what tells one run from another, in the order in which they are made.
        run: a cell -> the line.
    """
    for cell in cells:
        if not results.has(**cell):
            found = run(cell)
            results.add(found)
            print(found, flush=True)


def measured(rows: list[dict], test: list[dict], **settings) -> dict:
    """What `salience train` with these settings of its recipe comes to on the test rows."""
    with TemporaryDirectory() as work:
        folder = Path(work)
        files = {"data": write_csv(folder / "train.csv", rows), "test": write_csv(folder / "test.csv", test)}
        started, processor, notes = time.time(), time.process_time(), []
        run = train(Recipe(**files, **settings), folder / "run", note=notes.append)
        processor = time.process_time() - processor
    scores = run.metrics["test"]
    return {
        "rows": len(rows), "test_rows": len(test), "steps": run.recipe.steps, "stopped_at": run.metrics["steps"],
        "best_step": run.metrics["best_step"], "accuracy": scores["accuracy"], "macro_f1": scores["macro_f1"],
        "calibration_error": scores["calibration_error"], "log_loss": scores["log_loss"],
        "tfidf_accuracy": run.metrics["baselines"]["TF-IDF + logistic regression"]["accuracy"],
        "seconds": round(time.time() - started), "processor_seconds": round(processor, 1), "notes": notes,
    }  # fmt: skip
