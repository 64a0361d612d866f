"""Whether the mean of the weights of two trainings is better than one training.

    python bench/averaged_seeds.py --data-dir DATA --sets trec sst2 banking20 --sizes 100 --seeds 0 1

A head that begins as a regression gives every seed the same beginning, so that the weights of two seeds can be
averaged (model soups; Wortsman et al., 2022, arXiv:2203.05482, Sec. 3). Each run trains by the default recipe on the
same rows with two seeds, once with all steps and once with half of them, and scores development rows
(`bench/development.py`):

- one: the first seed with all steps;
- two of half: the mean weights of both seeds with half of the steps each, at the cost of one;
- two: the mean weights of both seeds with all steps, at twice the cost.

Runs are appended to RESULTS, and those that it has are not made again. The table gives the differences from "one" in
points of accuracy, and in log loss with the temperature that suits the rows best, with 95 % intervals over the runs.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from development import development_set
from interpolation import scores
from kept_rows import arguments, keep, kept_rows, missing_runs
from salience.comparison.variation import difference
from salience.data.task import Task
from salience.training.fit import fit
from salience.training.prepare import Prepared, prepare
from salience.training.recipe import Recipe
from salience.training.task import task_of

OTHER = 1000  # what the second seed is further than the first
STEPS = {"one": 1.0, "half": 0.5}


def trained(recipe: Recipe, task: Task) -> Prepared:
    """A prepared run whose model is trained."""
    prepared = prepare(recipe, task)
    with TemporaryDirectory() as folder:
        fit(prepared, Path(folder))
    return prepared


def rows_of_run(recipe: Recipe) -> dict[str, dict[str, float]]:
    """The scores on the test rows of one training, and of the mean weights of two."""
    task = task_of(recipe, print)
    labels, found = task.test.known_labels, {}
    for name, factor in STEPS.items():
        first, second = (
            trained(replace(recipe, seed=recipe.seed + more, steps_factor=factor), task) for more in (0, OTHER)
        )
        if name == "one":
            found["one"] = scores(first.classifier.probabilities(first.test), labels)
        with torch.no_grad():
            for weight, other in zip(first.model.parameters(), second.model.parameters(), strict=True):
                weight.copy_((weight + other) / 2)
        found["two" if name == "one" else "two of half"] = scores(first.classifier.probabilities(first.test), labels)
    return found


def main() -> None:
    """Makes the runs that are missing and prints the table."""
    parser = arguments(
        __doc__, "results/studies/averaged-seeds.jsonl", sets=["trec", "sst2", "banking20"], sizes=[100], seeds=[0, 1]
    )
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        for run in missing_runs(options.results, seed=options.seeds, size=options.sizes, set=options.sets):
            files = development_set(run["set"], options.data_dir, Path(folder))
            recipe = Recipe(**files, size=run["size"], seed=run["seed"], estimate="none", effort="best",
                            head_end="trained")  # fmt: skip
            keep(options.results, [run | {"scores": rows_of_run(recipe)}])
    rows = kept_rows(options.results)
    print("| | runs | accuracy | log loss |\n|---|---|---|---|")
    for name in ("two of half", "two"):
        gains = []
        for score in ("accuracy", "scaled_log_loss"):
            own = np.array([row["scores"][name][score] - row["scores"]["one"][score] for row in rows])
            gains.append(difference(own, np.zeros(len(own))))
        print(f"| {name} | {len(rows)} | {gains[0]} | {gains[1]} |")


if __name__ == "__main__":
    main()
