"""How well `salience audit` finds planted faults where a text can have several labels: precision and recall.

    python bench/audit_labels.py --data-dir DATA [--rows 2000] [--seeds 0,1,2,3,4]

The sets are constructed: texts of one or two joined rows (see `joined` in `bench/development.py`). In a tenth of the
rows one label, drawn uniformly, is added where it is missing and removed where it is there. The probabilities are
those of logistic regressions of each label on frozen vectors, in 5 folds. Counted are decisions about a label of a
row: "salience" flags those of confident learning, "prediction" all in which the data and the probability at 0.5
differ. The real errors of the data sets count as false alarms.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from audit import rates, spread
from development import JOINED, development_set, rows_of
from salience.audit.auditing import audit_folds, by_regression
from salience.audit.wrong_labels import wrong_labels
from salience.classify.frozen_encoder import KeptEncoder
from salience.data.task import Task
from salience.data.texts import Texts

SHARE, FOLDS = 0.1, 5
SCORES = ("flagged", "precision", "recall")


def with_faults(labels: np.ndarray, seed: int) -> np.ndarray:
    """Labels (N, C), 0 and 1, of which one is changed in a tenth of the rows."""
    random = np.random.default_rng([seed, 3])
    chosen = random.choice(len(labels), round(SHARE * len(labels)), replace=False)
    noisy = labels.copy()
    noisy[chosen, random.integers(0, labels.shape[1], len(chosen))] ^= 1
    return noisy


def rates_of(texts: Texts, vectors: np.ndarray, names: list[str], seed: int) -> dict[str, dict[str, float]]:
    """The rates of both rules on one draw of faults."""
    noisy = with_faults(texts.known_labels, seed)
    task = Task(names, Texts(texts.texts, labels=noisy))
    folds, places = audit_folds(task, FOLDS, seed, print)
    predicted = by_regression(folds, places, vectors, len(names))
    flagged = np.zeros(noisy.shape, bool)
    for finding in wrong_labels(task, predicted):
        flagged[finding.rows[0] - 1, [names.index(name) for name in finding.details["probabilities"]]] = True
    planted = noisy != texts.known_labels
    return {
        "salience": rates(flagged, planted), "prediction": rates((predicted.probabilities >= 0.5) != noisy, planted)
    }  # fmt: skip


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", default="0,1,2,3,4")
    options = parser.parse_args()
    encoder = KeptEncoder()
    print("| set | rows | labels | rule | flagged | precision | recall |\n|---|---|---|---|---|---|---|")
    for name in JOINED:
        with tempfile.TemporaryDirectory() as place:
            rows = rows_of(development_set(name, options.data_dir, Path(place))["data"])[: options.rows]
        sets = [json.loads(row["label"]) for row in rows]
        names = sorted({label for own in sets for label in own})
        labels = np.array([[int(label in own) for label in names] for own in sets])
        texts = Texts([row["text"] for row in rows], labels=labels)
        vectors = encoder.vectors(texts)
        draws = [rates_of(texts, vectors, names, int(seed)) for seed in options.seeds.split(",")]
        for rule in draws[0]:
            cells = " | ".join(spread([draw[rule][score] for draw in draws]) for score in SCORES)
            print(f"| {name} | {len(texts):,} | {len(names)} | {rule} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
