"""How far the estimate of a run is from the scores of its model on new rows, and what its temperature brings.

    python bench/estimates.py --data-dir DATA --sets trec mr subj --sizes 100 200 --seeds 0 1 2

Each run trains the model once and makes every kind of estimate for it; the model has the share of its trained weights
that the estimate chooses. The new rows are 1,000 other rows of the same training file (`bench/development.py`). Runs
are appended to RESULTS, and those that it has are not made again. The table gives, for each number of rows and each
kind:

- bias: mean of estimated accuracy minus accuracy on the new rows, in percentage points;
- error: root mean square of the same;
- corrected: bias and error of the estimated accuracy plus what the head alone gains with ten folds (or as many
  as the classes have rows);
- covered: share of runs in which the 95 % interval contains the accuracy on the new rows;
- calibration error: with 15 equal-mass bins on the new rows, without temperature and with that of the estimate; and
  the noise floor, that of a model whose probabilities are right: labels drawn from the scaled probabilities;
- log loss: on the new rows, without temperature and with it;
- cost: processor seconds of the estimate as a share of those of the training.

A second table says what `--target-precision` does with the rows of the estimate, for each target: the share of runs
that decide texts at all, the mean share of new rows that these decide, and the share of these runs whose precision on
the decided new rows is at least the target. The last is to be 95 % or more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from development import development_set
from kept_rows import arguments, keep, kept_rows, missing_runs
from salience.scores.calibration import with_temperature
from salience.scores.held_out import abstention, decided_scores
from salience.scores.labels import ONE_LABEL
from salience.training.callbacks import Beginning
from salience.training.estimate import Estimated, choose_folds, estimate
from salience.training.fit import Listeners, fit
from salience.training.prepare import prepare, silent
from salience.training.recipe import Recipe
from salience.training.task import task_of

TARGETS = (0.8, 0.9, 0.95)
DRAWS = 200  # of labels, for the noise floor
COLUMNS = (
    "bias", "error", "corrected bias", "corrected error", "covered", "calibration error", "with temperature",
    "noise floor", "log loss", "log loss with temperature", "cost",
)  # fmt: skip


def rows_of_run(recipe: Recipe, kinds: list[str]) -> Iterator[dict]:
    """Trains a model and makes estimates for it: a row for each kind."""
    task = task_of(recipe, silent)
    prepared = prepare(recipe, task)
    assert prepared.test is not None
    labels = task.test.known_labels
    with TemporaryDirectory() as folder:
        place = Path(folder)
        found = {}
        for kind in kinds:  # before the model is trained, as in a run
            folds = choose_folds(replace(prepared.plan, estimate=kind), task, silent)
            assert folds is not None
            started = time.process_time()
            made = estimate(prepared, task, folds, place / kind, Listeners())
            assert made is not None
            found[kind] = made, time.process_time() - started
        started, beginning = time.process_time(), Beginning(prepared.model)
        classifier = fit(prepared, place / "model").classifier
        seconds = time.process_time() - started
        shares = sorted({made.share for made, _ in found.values()})
        probabilities = {share: classifier.probabilities(prepared.test) for share in beginning.at(shares)}
    for kind, (made, cost) in found.items():
        metrics, temperature, own = made.metrics, made.temperature, probabilities[made.share]
        scaled, alone = with_temperature(own, temperature), metrics.get("head_alone", {"accuracy": None})
        plain, new = ONE_LABEL.detailed(own, labels), ONE_LABEL.detailed(scaled, labels)
        yield {
            "kind": kind, "share": made.share,
            "estimated": metrics["accuracy"], "interval": metrics["accuracy_interval"],
            "accuracy": plain["accuracy"], "temperature": temperature,
            "head_alone": alone["accuracy"],
            "head_alone_of_more": metrics.get("head_alone_of_more", alone)["accuracy"],
            "calibration_error": plain["equal_mass_calibration_error"],
            "scaled_calibration_error": new["equal_mass_calibration_error"], "noise_floor": noise_floor(scaled),
            "log_loss": plain["log_loss"], "scaled_log_loss": new["log_loss"],
            "seconds": round(seconds, 3), "estimate_seconds": round(cost, 3),
            "decided": {str(target): decided(made, target, scaled, labels, task.labels) for target in TARGETS},
        }  # fmt: skip


def decided(
    made: Estimated, target: float, probabilities: np.ndarray, labels: np.ndarray, names: list[str]
) -> dict[str, float | None]:
    """What the thresholds of an estimate decide of new rows.

    Args:
        made: the estimate.
        target: the precision.
        probabilities: (N, C) of the new rows, scaled by the temperature of the estimate.
        labels: (N,), class numbers of the new rows.
        names: of the C classes.

    Returns:
        "coverage", the share that is decided, and "precision", the share of these that is right; None without any.
    """
    found = abstention(
        made.predictions.probabilities,
        made.predictions.labels,
        names,
        target,
        made.temperature,
        made.predictions.groups,
    )
    thresholds = np.array([found["thresholds"][name] for name in names])
    scores = decided_scores(probabilities, labels, thresholds)
    return {name: scores[name] for name in ("coverage", "precision")}


def noise_floor(probabilities: np.ndarray) -> float:
    """The mean calibration error of these probabilities (N, C) on labels that are drawn from them."""
    random = np.random.default_rng(0)
    upper = probabilities.cumsum(1)
    drawn = [
        (random.random(len(upper))[:, None] * upper[:, -1:] > upper).sum(1).clip(max=upper.shape[1] - 1)
        for _ in range(DRAWS)
    ]
    return float(np.mean([ONE_LABEL.calibration_error(probabilities, labels, equal_mass=True) for labels in drawn]))


def summary(rows: list[dict]) -> dict[str, float]:
    """The numbers of `COLUMNS` over runs of one number of rows and one kind."""
    gaps = np.array([row["estimated"] - row["accuracy"] for row in rows])
    alone, of_more = (
        np.array([row.get(name) for row in rows], float) for name in ("head_alone", "head_alone_of_more")
    )
    gains = of_more - alone  # nan where the head has not begun as a regression

    def mean(name: str) -> float:
        return float(np.mean([row[name] for row in rows]))

    values = (
        100 * gaps.mean(), 100 * np.sqrt((gaps**2).mean()),
        100 * (gaps + gains).mean(), 100 * np.sqrt(((gaps + gains) ** 2).mean()),
        np.mean([row["interval"][0] <= row["accuracy"] <= row["interval"][1] for row in rows]),
        mean("calibration_error"), mean("scaled_calibration_error"), mean("noise_floor"), mean("log_loss"),
        mean("scaled_log_loss"), sum(row["estimate_seconds"] for row in rows) / sum(row["seconds"] for row in rows),
    )  # fmt: skip
    return dict(zip(COLUMNS, map(float, values), strict=True))


def table(rows: list[dict]) -> str:
    """The summaries in Markdown."""
    lines = [f"| rows | kind | runs | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 3) + "|"]
    for size, kind in sorted({(row["size"], row["kind"]) for row in rows}):
        own = [row for row in rows if (row["size"], row["kind"]) == (size, kind)]
        values = [f"{value:+.1f}" if name.endswith("bias") else f"{value:.3g}" for name, value in summary(own).items()]
        lines.append(f"| {size} | {kind} | {len(own)} | {' | '.join(values)} |")
    return "\n".join(lines)


def table_of_targets(rows: list[dict]) -> str:
    """What is decided for each target, in Markdown."""
    lines = ["| rows | kind | target | runs that decide | share decided | target met |", "|---" * 6 + "|"]
    for size, kind in sorted({(row["size"], row["kind"]) for row in rows}):
        own = [row["decided"] for row in rows if (row["size"], row["kind"]) == (size, kind)]
        for target in TARGETS:
            runs = [each[str(target)] for each in own if each[str(target)]["precision"] is not None]
            cells = ["", ""]
            if runs:
                met = sum(run["precision"] >= target for run in runs)
                cells = [f"{np.mean([run['coverage'] for run in runs]):.2f}", f"{met} of {len(runs)}"]
            lines.append(f"| {size} | {kind} | {target:g} | {len(runs)} of {len(own)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Makes the runs that are missing and prints the table."""
    parser = arguments(
        __doc__,
        "results/estimates.jsonl",
        sets=["trec", "mr", "subj", "sst2", "ag_news"],
        sizes=[100, 200],
        seeds=[0, 1, 2],
    )
    parser.add_argument("--kinds", nargs="+", default=["folds:2", "holdout"])
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--quick", action="store_true", help="three layers, a quarter of the steps at 2e-4")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        for run in missing_runs(options.results, seed=options.seeds, size=options.sizes, set=options.sets):
            files = development_set(run["set"], options.data_dir, Path(folder))
            recipe = Recipe(**files, size=run["size"], seed=run["seed"], precision=options.precision, effort="best",
                            head_end="trained")  # fmt: skip
            if options.quick:
                recipe = replace(recipe, trained_layers=3, steps_factor=0.25, learning_rate=2e-4)
            keep(options.results, [row | run for row in rows_of_run(recipe, options.kinds)])
    rows = kept_rows(options.results)
    print(table(rows))
    print()
    print(table_of_targets(rows))


if __name__ == "__main__":
    main()
