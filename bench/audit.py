"""How well `salience audit` finds planted faults: precision and recall of flagged rows.

    python bench/audit.py --data-dir DATA [--sets trec,banking77,sst2] [--rows 2000] [--seeds 0,1,2,3,4]
        [--folds 5] [--fine-tune]

Wrong labels: a tenth of the labels of a development set are replaced by other classes, drawn uniformly. All rules get
the same out-of-fold probabilities, of logistic regressions on frozen vectors or with --fine-tune of trained models.
"off-diagonals" is cleanlab's filter "confident_learning", beside its default rule, which salience takes.
"prediction" flags every row whose label is not the most probable class. Average precision is that of the ranking of
all rows by the normalised margin. The real errors of the data sets count as false alarms.

Near-duplicates: copies of a tenth of the rows are added, with typing errors in a tenth of the words or without a tenth
of the words; found is a copy that is in one group with its original. Outliers: 20 texts of another data set are added.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

from corruptions import CORRUPTIONS, corrupted
from development import development_set, drawn, rows_of, with_wrong_labels
from salience.audit.auditing import audit_folds, by_fine_tuning, by_regression
from salience.audit.neighbours import above_fence, duplicate_groups, outlier_scores
from salience.audit.wrong_labels import likely_wrong, wrongness
from salience.classify.frozen_encoder import KeptEncoder
from salience.data.task import Task
from salience.data.texts import Texts
from salience.training.recipe import Recipe

SHARE, SIMILARITY, FOREIGN = 0.1, 0.95, 20
RULES = ("salience", "off-diagonals", "prediction")


def texts_of(rows: list[dict], names: list[str]) -> Texts:
    """Rows of a development set as labelled texts."""
    return Texts([row["text"] for row in rows], labels=[names.index(row["label"]) for row in rows])


def rates(flagged: np.ndarray, planted: np.ndarray) -> dict[str, float]:
    """Precision and recall of flagged rows (N,) bool, and how many there are."""
    hits = int((flagged & planted).sum())
    return {
        "flagged": int(flagged.sum()), "precision": hits / max(int(flagged.sum()), 1), "recall": hits / planted.sum(),
    }  # fmt: skip


def wrong_labels(
    texts: Texts, vectors: np.ndarray, names: list[str], seed: int, count: int, fine_tuned: Recipe | None
) -> dict[str, dict[str, float]]:
    """The rates of each rule on one draw of wrong labels.

    Args:
        count: number of folds.
        fine_tuned: recipe of the models that give the probabilities; None for the regressions.
    """
    from cleanlab.filter import find_label_issues  # here, because `bench/audit_labels.py` does not need it

    noisy = with_wrong_labels(texts.known_labels, SHARE, seed, len(names))
    planted = noisy != texts.known_labels
    task = Task(names, Texts(texts.texts, labels=noisy))
    folds, places = audit_folds(task, count, seed, print)
    if fine_tuned is None:
        found = by_regression(folds, places, vectors, len(names)).probabilities
    else:
        found = by_fine_tuning(replace(fine_tuned, seed=seed), task, folds, places, lambda line: None).probabilities
    labels, planted = noisy[places], planted[places]
    flags = {
        "salience": likely_wrong(labels, found),
        "off-diagonals": find_label_issues(labels, found, filter_by="confident_learning", n_jobs=1),
        "prediction": found.argmax(1) != labels,
    }
    rows = {rule: rates(flagged, planted) for rule, flagged in flags.items()}
    rows["salience"]["average precision"] = average_precision_score(planted, wrongness(labels, found))
    rows["salience"]["accuracy"] = float((found.argmax(1) == texts.known_labels[places]).mean())
    return rows


def near_duplicates(texts: Texts, vectors: np.ndarray, encoder: KeptEncoder, how: str, seed: int) -> float:
    """The share of planted copies that are in one group with their original."""
    chosen = np.random.default_rng([seed, 1]).choice(len(texts), round(SHARE * len(texts)), replace=False)
    copies = corrupted(texts.take(chosen), how, SHARE, seed)
    both = Texts([*texts.texts, *copies.texts])
    groups = duplicate_groups(both, np.concatenate([vectors, encoder.vectors(copies)]), SIMILARITY)
    of_row = {place: number for number, group in enumerate(groups) for place in group[0]}
    hits = sum(of_row.get(len(texts) + n, -1) == of_row.get(row, -2) for n, row in enumerate(chosen.tolist()))
    return hits / len(chosen)


def outliers(vectors: np.ndarray, foreign: np.ndarray, seed: int) -> dict[str, float]:
    """The rates of flagged rows with some texts of another set among them."""
    chosen = np.random.default_rng([seed, 2]).choice(len(foreign), FOREIGN, replace=False)
    planted = np.arange(len(vectors) + FOREIGN) >= len(vectors)
    return rates(above_fence(outlier_scores(np.concatenate([vectors, foreign[chosen]]))), planted)


def spread(values: list[float]) -> str:
    """Mean and standard deviation over seeds; a whole number where all are."""
    digits = 1 if max(values) > 1.5 else 3
    return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", default="trec,banking77,sst2")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--fine-tune", action="store_true", help="models of the default recipe give the probabilities")
    parser.add_argument("--precision", default="auto")
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    encoder = KeptEncoder(precision=options.precision)
    recipe = Recipe(data="rows of a bench", precision=options.precision) if options.fine_tune else None
    sets: dict[str, tuple[Texts, np.ndarray, list[str]]] = {}
    with tempfile.TemporaryDirectory() as place:
        for name in options.sets.split(","):
            rows, _ = drawn(rows_of(development_set(name, options.data_dir, Path(place))["data"]), options.rows, 0)
            names = sorted({row["label"] for row in rows})
            texts = texts_of(rows, names)
            sets[name] = texts, encoder.vectors(texts), names
    print("| set | rows | rule | flagged | precision | recall | average precision | accuracy |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (texts, vectors, names) in sets.items():
        draws = [wrong_labels(texts, vectors, names, seed, options.folds, recipe) for seed in seeds]
        for rule in RULES:
            cells = [
                spread([draw[rule][score] for draw in draws]) if score in draws[0][rule] else ""
                for score in ("flagged", "precision", "recall", "average precision", "accuracy")
            ]
            print(f"| {name} | {len(texts):,} | {rule} | {' | '.join(cells)} |", flush=True)
    if options.fine_tune:
        return  # what follows is about vectors
    print(f"\n| set | {' | '.join(f'{how}: found' for how in CORRUPTIONS)} | outliers flagged | precision | recall |")
    print("|---" * (4 + len(CORRUPTIONS)) + "|")
    order = list(sets)
    for number, (name, (texts, vectors, _)) in enumerate(sets.items()):
        found = [[near_duplicates(texts, vectors, encoder, how, seed) for seed in seeds] for how in CORRUPTIONS]
        foreign = sets[order[(number + 1) % len(order)]][1]
        far = [outliers(vectors, foreign, seed) for seed in seeds]
        cells = [spread([each[score] for each in far]) for score in ("flagged", "precision", "recall")]
        print(f"| {name} | {' | '.join([*map(spread, found), *cells])} |", flush=True)


if __name__ == "__main__":
    main()
