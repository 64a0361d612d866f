"""How much a small encoder gains if a large one teaches it on texts without labels: `salience distill`.

    python bench/distilling.py --data-dir DATA --teacher sentence-transformers/all-mpnet-base-v2 --seeds 0 1

The teacher is trained on a few rows, the upper half of its layers, and calibrated by two folds. It labels other rows
of the same file, whose labels are hidden, and its probabilities teach minilm, which is tested on development rows
(`bench/development.py`). "alone" is minilm trained on the few rows, and "alone, best" the same with all steps. The
runs are added to RESULTS/distilling.csv, of which `bench/study_table.py` prints the differences. "seconds" are the
processor's: the training, with its texts read and its test rows predicted, and the calibration of the teacher.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pandas as pd

from development import SETS, development_set
from salience.training.recipe import Recipe
from salience.training.run import train
from salience.training.task import read_task
from study import add_runs

NAMES = ("sst2", "mr", "trec", "subj", "sst5", "ag_news")
SCORES = ("accuracy", "macro_f1", "log_loss", "calibration_error", "equal_mass_calibration_error")
PERCENT = {"accuracy": 100, "macro_f1": 100}


def main() -> None:
    """Runs the study, draw by draw; what the table has already is not made again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--teacher", required=True, help="encoder of the teacher")
    parser.add_argument("--output", type=Path, default=Path("runs/studies/distilling"))
    parser.add_argument("--results", type=Path, default=Path("results/studies"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=NAMES)
    parser.add_argument("--size", type=int, default=100, help="labelled rows")
    parser.add_argument("--texts", nargs="*", type=int, default=[2000], help="numbers of texts without labels")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--precision", default="fp32")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    table = options.results / "distilling.csv"
    for seed in options.seeds:
        for name in options.sets:
            done = pd.read_csv(table) if table.exists() else pd.DataFrame(columns=["data", "size", "seed", "method"])
            made = set(
                done[(done["data"] == name) & (done["size"] == options.size) & (done["seed"] == seed)]["method"]
            )
            draw = Draw(name, seed, options)
            for method in ("alone", "alone, best", "teacher", *map(taught_by, options.texts)):
                if method not in made:
                    draw.place.mkdir(parents=True, exist_ok=True)
                    pd.DataFrame([draw.run(method)]).to_csv(draw.place / "new.csv", index=False)
                    add_runs(draw.place / "new.csv", table)


def taught_by(texts: int) -> str:
    return f"taught by {texts:,} texts"


class Draw:
    """A draw of labelled rows of a set, with the models that are trained on them."""

    def __init__(self, name: str, seed: int, options: argparse.Namespace):
        self.name, self.seed, self.options = name, seed, options
        self.files = development_set(name, options.data_dir, options.output / "data")
        self.place = options.output / f"{name}-{options.size}-{seed}"

    def run(self, method: str) -> dict:
        """The row of the table of one method."""
        settings = {"test": self.files["test"], "seed": self.seed, "precision": self.options.precision}
        few = settings | {"data": self.files["data"], "size": self.options.size, "estimate": "none"}
        recipe = {
            "alone": few, "alone, best": few | {"effort": "best", "head_end": "trained"},
            "teacher": few | {"model": self.options.teacher, "trained_layers": 6, "estimate": "folds:2"},
        }.get(method)  # fmt: skip
        if recipe is None:
            count = next(texts for texts in self.options.texts if taught_by(texts) == method)
            recipe = settings | {"data": str(self.unlabelled(count)), "teacher": str(self.place / "teacher")}
        started = time.process_time()
        folder = self.place / method.replace(" ", "-")
        found = train(Recipe(**recipe), folder, overwrite=True, keep_model=method == "teacher").metrics["test"]
        seconds = round(time.process_time() - started, 1)
        row = {"data": self.name, "model": "minilm", "size": self.options.size, "method": method, "seed": self.seed}
        return row | {score: found[score] * PERCENT.get(score, 1) for score in SCORES} | {"seconds": seconds}

    def unlabelled(self, count: int) -> Path:
        """A file of texts that the teacher was not trained on, without their labels; all of them if they are fewer."""
        few = Recipe(self.files["data"], size=self.options.size, seed=self.seed, estimate="none")
        used = read_task(few, lambda line: None).training.texts
        rows = pd.read_csv(self.files["data"], keep_default_na=False)
        rest = rows[~rows["text"].isin(set(used))]
        file = self.place / f"unlabelled-{count}.csv"
        rest.sample(min(count, len(rest)), random_state=self.seed)[["text"]].to_csv(file, index=False)
        return file


if __name__ == "__main__":
    main()
