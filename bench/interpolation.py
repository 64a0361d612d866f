"""Whether weights between those before and after training are better than those after it.

    python bench/interpolation.py --data-dir DATA --sets trec sst2 banking20 --sizes 100 --seeds 0 1

A head that begins as a regression makes the untrained model a classifier: logistic regression on frozen vectors.
Weights (1 - a) * before + a * after (WiSE-FT; Wortsman et al., 2022, arXiv:2109.01903, Eq. 1) go from this classifier,
a = 0, to the trained one, a = 1, and beyond. Beside them stand the mean probabilities of both classifiers. Each run
trains once by the default recipe with the changes of a variant of `VARIANTS`, and is scored on development rows
(`bench/development.py`) with all weights between. Runs are appended to RESULTS, and those that it has are not made
again. The tables give the differences from a = 1 in points of accuracy (of ranking precision where texts have several
labels), and in log loss, with 95 % intervals over the runs.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from development import development_set
from kept_rows import arguments, keep, kept_rows, missing_runs
from salience.comparison.variation import difference
from salience.scores.labels import labels_of
from salience.training.fit import fit
from salience.training.prepare import prepare, silent
from salience.training.recipe import Recipe
from salience.training.task import task_of

SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25)  # of the weights after training
BLENDS = (0.25, 0.5, 0.75)  # shares of the trained classifier in mean probabilities
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "a tenth of the penalty": {"head_strength": 10.0},
    "twice the rate": {"learning_rate": 1e-4},
    "four times the rate": {"learning_rate": 2e-4},
    "half of the steps": {"steps_factor": 0.5},
    "twice the steps": {"steps_factor": 2.0},
    "twice the rate, half of the steps": {"learning_rate": 1e-4, "steps_factor": 0.5},
}


def rows_of_run(recipe: Recipe) -> dict[str, dict[str, float]]:
    """Trains a model; its scores on the test rows for each share of the weights, and of blended probabilities."""
    task = task_of(recipe, silent)
    prepared = prepare(recipe, task)
    assert prepared.test is not None
    labels = task.test.known_labels
    before = {name: weight.detach().clone() for name, weight in prepared.model.named_parameters()}
    with TemporaryDirectory() as folder:
        classifier = fit(prepared, Path(folder)).classifier
    after = {name: weight.detach().clone() for name, weight in classifier.model.named_parameters()}
    found, probabilities = {}, {}
    for share in SHARES:
        with torch.no_grad():
            for name, weight in classifier.model.named_parameters():
                weight.copy_(torch.lerp(before[name], after[name], share))
        probabilities[share] = classifier.probabilities(prepared.test)
        found[f"{share:g}"] = scores(probabilities[share], labels)
    for share in BLENDS:
        found[f"blend {share:g}"] = scores((1 - share) * probabilities[0.0] + share * probabilities[1.0], labels)
    return found


def scores(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """The main score in percent, and the log loss with the temperature that suits these rows best."""
    scoring = labels_of(labels)
    return {
        scoring.main: 100 * scoring.row_scores(probabilities, labels)[scoring.main].mean(),
        "scaled_log_loss": scoring.row_scores(scoring.scaled(probabilities, labels), labels)["log_loss"].mean(),
    }


def table(rows: list[dict], score: str) -> str:
    """Differences from the trained weights in one score, in Markdown: a line for each variant and each share."""
    lines = [f"| variant | share | runs | {score} | sets |", "|---|---|---|---|---|"]
    for variant in dict.fromkeys(row["variant"] for row in rows):
        own = [row["scores"] for row in rows if row["variant"] == variant]
        names = [row["set"] for row in rows if row["variant"] == variant]
        for share in own[0]:
            gains = [each[share][score] - each["1"][score] for each in own]
            pairs = list(zip(gains, names, strict=True))
            told = ", ".join(
                f"{name} {np.mean([gain for gain, of in pairs if of == name]):+.2f}" for name in dict.fromkeys(names)
            )
            lines.append(f"| {variant} | {share} | {len(own)} | {difference(gains, [0.0] * len(gains))} | {told} |")
    return "\n".join(lines)


def main() -> None:
    """Makes the runs that are missing and prints the tables."""
    parser = arguments(
        __doc__,
        "results/studies/interpolation.jsonl",
        sets=["trec", "sst2", "mr", "subj", "sst5", "ag_news"],
        sizes=[100],
        seeds=[0, 1],
    )
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=["default"])
    parser.add_argument("--precision", default="auto")
    options = parser.parse_args()
    axes = {"seed": options.seeds, "size": options.sizes, "variant": options.variants, "set": options.sets}
    with TemporaryDirectory() as folder:
        for run in missing_runs(options.results, **axes):
            files = development_set(run["set"], options.data_dir, Path(folder))
            recipe = Recipe(
                **files, size=run["size"], seed=run["seed"], precision=options.precision, estimate="none",
                effort="best", head_end="trained", **VARIANTS[run["variant"]],
            )  # fmt: skip
            keep(options.results, [run | {"scores": rows_of_run(recipe)}])
    rows = kept_rows(options.results)
    for score in ("accuracy", "ranking_precision", "scaled_log_loss"):
        if found := [row for row in rows if score in row["scores"]["1"]]:
            print(table(found, score), end="\n\n")


if __name__ == "__main__":
    main()
