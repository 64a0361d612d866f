"""Whether the rows of an estimate choose a good share of the trained weights.

    python bench/chosen_shares.py --data-dir DATA --sets trec sst2 banking20 --seeds 0

`bench/interpolation.py` has trained models by the default recipe and scored them on development rows with several
shares of their trained weights; its runs are in RUNS. For the same rows and seeds, this makes the estimate by two
folds and asks which share it chooses (`salience.training.estimate`). Choices are appended to RESULTS, and those
that it has are not made again. The table gives the difference of the chosen share from the trained weights, on the
development rows.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from development import SETS, development_set
from kept_rows import keep, kept_rows
from salience.scores import held_out
from salience.scores.labels import labels_of
from salience.training.estimate import SHARES, choose_folds, estimate
from salience.training.fit import Listeners
from salience.training.prepare import prepare, silent
from salience.training.recipe import Recipe
from salience.training.task import task_of


def choice(recipe: Recipe) -> dict[str, Any]:
    """The share that the estimate of a recipe chooses, and the log loss of its rows with each share."""
    task = task_of(recipe, silent)
    prepared = prepare(recipe, task)
    folds = choose_folds(recipe, task, print)
    assert folds is not None
    losses: dict[str, float] = {}
    chosen = held_out.chosen_share

    def watched(probabilities, labels, groups=None):
        """Of the calls, the last one sees all rows."""
        scoring = labels_of(labels)
        for share, each in zip(SHARES, probabilities, strict=True):
            scaled = scoring.scaled(each, labels)
            losses[f"{share:g}"] = float(scoring.row_scores(scaled, labels)["log_loss"].mean())
        return chosen(probabilities, labels, groups)

    held_out.chosen_share = watched
    try:
        with TemporaryDirectory() as folder:
            found = estimate(prepared, task, folds, Path(folder), Listeners())
    finally:
        held_out.chosen_share = chosen
    assert found is not None  # one process
    return {"share": found.share, "losses": losses}


def main() -> None:
    """Makes the estimates and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--runs", type=Path, default=Path("results/studies/interpolation.jsonl"))
    parser.add_argument("--results", type=Path, default=Path("results/studies/chosen-shares.jsonl"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    options = parser.parse_args()
    key = ("set", "size", "seed")
    runs = [
        row for row in kept_rows(options.runs)
        if row["variant"] == "default" and row["set"] in options.sets and row["seed"] in options.seeds
    ]  # fmt: skip
    runs.sort(key=lambda row: options.sets.index(row["set"]))
    known = {tuple(row[name] for name in key): row for row in kept_rows(options.results)}
    with TemporaryDirectory() as folder:
        for row in runs:
            place = tuple(row[name] for name in key)
            if place in known:
                continue
            started = time.time()
            files = development_set(row["set"], options.data_dir, Path(folder))
            recipe = Recipe(
                **files, size=row["size"], seed=row["seed"], estimate="folds:2", effort="best", head_end="trained"
            )
            known[place] = {name: row[name] for name in key} | choice(recipe)
            known[place]["seconds"] = round(time.time() - started, 1)
            keep(options.results, [known[place]])
    print(
        "| set | rows | seed | share | accuracy | log loss | best share by log loss |\n|---|---|---|---|---|---|---|"
    )
    for row in runs:
        found, scores = known[tuple(row[name] for name in key)], row["scores"]
        own, after = scores[f"{found['share']:g}"], scores["1"]
        main = next(iter(own))  # accuracy, or ranking precision where texts have several labels
        best = min((f"{share:g}" for share in SHARES), key=lambda share: scores[share]["scaled_log_loss"])
        print(
            f"| {row['set']} | {row['size']} | {row['seed']} | {found['share']:g} | "
            f"{own[main] - after[main]:+.1f} | "
            f"{own['scaled_log_loss'] - after['scaled_log_loss']:+.3f} | {best} |"
        )


if __name__ == "__main__":
    main()
