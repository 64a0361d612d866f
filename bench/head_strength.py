"""How closely the head alone fits its rows: its accuracy over the penalty of the regression, by the number of classes.

    python bench/head_strength.py --data-dir DATA
    python bench/head_strength.py --show

The head alone is `--trained-layers 0`: a logistic regression on the vectors of the encoder as it is, with the penalty
|weights|^2 / 2C for vectors of length 1. "half the classes" is what `train` takes: C is half the number of classes,
from six classes on, else 1. "by folds" is the C of the highest accuracy in five folds of the rows, the smallest of
equal ones. Rows to train on and 1,000 to test on are of the training files. Every draw is a line of OUTPUT.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from development import development_set, drawn, rows_of
from salience.classify.frozen_encoder import KeptEncoder
from salience.training.baselines import fitted_regression
from salience.training.recipe import Recipe

STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SETS = ("mr", "sst2", "subj", "ag_news", "sst5", "trec", "banking20", "trec_fine", "banking77")
SIZES = (50, 100, 200, 400)
ROWS_A_CLASS, FOLDS = 2, 5


def main() -> None:
    """Adds what is missing and prints the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(10)))
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--output", type=Path, default=Path("results/studies/head-strength.jsonl"))
    parser.add_argument("--show", action="store_true", help="print what was found")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "The (least populated class|number of unique classes)")
    encoder = KeptEncoder(options.model, 128, precision="fp32")
    for name in [] if options.show else options.sets:
        with TemporaryDirectory() as folder:
            files = development_set(name, options.data_dir, Path(folder))
            pool, tested = rows_of(files["data"]), rows_of(files["test"])
        unseen = encoder.vectors([row["text"] for row in tested]), np.array([row["label"] for row in tested])
        classes = len({row["label"] for row in pool})
        cells = [(size, seed) for size in options.sizes if size >= ROWS_A_CLASS * classes for seed in options.seeds]
        draws = {cell: drawn(pool, *cell)[0] for cell in cells}
        texts = list({row["text"]: None for rows in draws.values() for row in rows})
        vectors = dict(zip(texts, encoder.vectors(texts), strict=True))
        for (size, seed), rows in draws.items():
            own = np.stack([vectors[row["text"]] for row in rows]), np.array([row["label"] for row in rows])
            key = {"model": Path(options.model).name, "set": name, "size": size, "seed": seed}
            with options.output.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(key | of_rows(*own, *unseen)) + "\n")
    show(pd.read_json(options.output, lines=True))


def of_rows(vectors: np.ndarray, labels: np.ndarray, unseen: np.ndarray, of_unseen: np.ndarray) -> dict[str, float]:
    """The accuracy of each strength in percent, and of both rules."""
    classes = len(np.unique(labels))
    found, own = {}, Recipe("").strength_saved(classes, several=False)
    for strength in sorted({*STRENGTHS, own}):
        regression = fitted_regression(vectors, labels, strength)
        found[strength] = 100 * float(np.mean(regression.predict(unseen) == of_unseen))
    fewest = min(Counter(labels.tolist()).values())
    folds = StratifiedKFold(FOLDS) if fewest >= FOLDS else KFold(FOLDS, shuffle=True, random_state=0)
    by_folds = {strength: np.mean(cross_val_predict(
        LogisticRegression(C=strength, max_iter=1000), vectors, labels, cv=folds
    ) == labels) for strength in STRENGTHS}  # fmt: skip
    rules = {"half the classes": found[own], "by folds": found[max(STRENGTHS, key=lambda each: by_folds[each])]}
    return {"classes": classes} | {f"C = {each:g}": found[each] for each in STRENGTHS} | rules


def show(runs: pd.DataFrame) -> None:
    """The mean accuracies over draws, and the differences from C = 1 with their standard errors over sets."""
    columns = [column for column in runs if column.startswith("C = ") or column in ("half the classes", "by folds")]
    means = runs.groupby(["model", "classes", "set", "size"])[columns].mean()
    print(means.round(1).to_string())
    away = means.sub(means["C = 1"], axis=0).groupby(["model", "size"])
    print(away.mean().round(2).to_string())
    print(away.sem().round(2).to_string())


if __name__ == "__main__":
    main()
