"""How near bf16 comes to fp32 for one trained classifier: probabilities, labels, explanations, metrics, guides, time.

    python bench/precision_agreement.py RUN --data-dir DATA --set sst2 --threads 1
    python bench/precision_agreement.py RUN --data-dir DATA --set sst2 --threads 1 --part guides

RUN is a folder of `salience train`. Probabilities are compared on `--texts` training texts, explanations on the first
`--explained` texts of the development part, metrics on fewer. Time is the processor's for predicting 500 of the texts,
encoded beforehand, alternately. `--part guides` compares what guides mixing (`guides.py`) on `--guided` batches of 32
training texts, without dropout and with it; with it, also another dropout in fp32, which says how much the scores vary
by themselves.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import guides
import salience
from development import drawn, read
from salience import TextClassifier
from salience.batch import Batch
from salience.data.batching import Collator, LengthGrouped
from salience.explainers.explanation import Explanation
from side_by_side import alternate, parser, prepare, save

EXPLAINERS = ("gradient", "gradient-x-input", "integrated-gradients", "attention", "cls-attention", "occlusion")
PRECISIONS = ("fp32", "bf16")
TIMED = 500


def explanations(full: Sequence[Explanation], half: Sequence[Explanation], name: str) -> dict[str, float]:
    """How far the scores of the words agree, text by text."""
    pairs = [(one.scores[name], other.scores[name]) for one, other in zip(full, half, strict=True)]
    pairs = [(one, other) for one, other in pairs if len(one) > 3]
    ranks = [spearmanr(one, other).statistic for one, other in pairs]
    errors = [np.abs(one - other).max() / np.abs(one).max() for one, other in pairs]
    return {
        "rank correlation, median": float(np.median(ranks)), "lowest": float(min(ranks)),
        "largest error / largest score, median": float(np.median(errors)), "highest": float(max(errors)),
        "same first word": float(np.mean([one.argmax() == other.argmax() for one, other in pairs])),
    }  # fmt: skip


def predictions(classifiers: dict[str, TextClassifier], texts: list[str]) -> dict[str, float]:
    full, half = (classifiers[precision].predict_proba(texts) for precision in PRECISIONS)
    return {
        "labels that agree": float((full.argmax(1) == half.argmax(1)).mean()),
        "largest difference of a probability": float(np.abs(full - half).max()),
        "texts within 0.02": float((np.abs(full - half).max(1) <= 0.02).mean()),
        "mean difference": float(np.abs(full - half).mean()),
    }


def guided(classifier: TextClassifier, rows: list[dict], count: int, seed: int) -> dict[str, dict]:
    """Agreement of the guides on `count` batches of 32 rows with their labels, without dropout and with it."""
    rows, _ = drawn(rows, 32 * count, seed)
    rows = rows[: 32 * count]
    labels = [classifier.labels.index(row["label"]) for row in rows]
    encoded = classifier.encode([row["text"] for row in rows])
    sampler = LengthGrouped(encoded.lengths, 32, seed)
    collate = Collator.of(classifier.tokenizer)
    batches = [
        Batch(**collate([encoded[row] | {"labels": labels[row]} for row in part]))
        for part in np.array(list(sampler)).reshape(-1, 32)
    ]
    return {
        f"{name} dropout": guides.agreement(classifier.model, batches, dropout)
        for name, dropout in (("without", False), ("with", True))
    }


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("run", type=Path)
    arguments.add_argument("--data-dir", type=Path, required=True)
    arguments.add_argument("--set", default="sst2")
    arguments.add_argument("--part", choices=["everything", "guides"], default="everything")
    arguments.add_argument("--guided", type=int, default=10)
    arguments.add_argument("--texts", type=int, default=5000)
    arguments.add_argument("--explained", type=int, default=100)
    arguments.add_argument("--tested", type=int, default=40)
    arguments.add_argument("--repetitions", type=int, default=7)
    arguments.add_argument("--clock", default="processor")
    options = arguments.parse_args()
    machine = prepare(options)
    folder = options.data_dir / options.set
    if options.part == "guides":
        classifier = salience.load(options.run, None, options.device, "fp32")
        alike = guided(classifier, read(folder / "train.jsonl.gz"), options.guided, options.seed)
        print(json.dumps(alike, indent=1))
        save(options, machine, {"guides": alike})
        return
    texts = [row["text"] for row in read(folder / "train.jsonl.gz")][: options.texts]
    development = [row["text"] for row in read(folder / "dev.jsonl.gz")]
    classifiers = {precision: salience.load(options.run, None, options.device, precision) for precision in PRECISIONS}
    found: dict[str, dict[str, float]] = {"predictions": predictions(classifiers, texts)}
    print(found["predictions"], flush=True)
    for name in EXPLAINERS:
        full, half = (
            salience.explain(classifiers[precision], development[: options.explained], explainers=[name])
            for precision in PRECISIONS
        )
        found[name] = explanations(full, half, name)
        print(name, found[name], flush=True)
    full, half = (
        salience.evaluate(classifiers[precision], development[: options.tested], explainers=["gradient"])["gradient"]
        for precision in PRECISIONS
    )
    found["metrics"] = {
        f"{name}, {precision}": metrics[name].mean
        for name in full.metrics
        for precision, metrics in zip(PRECISIONS, (full.metrics, half.metrics), strict=True)
    }
    print(found["metrics"], flush=True)
    encoded = classifiers["fp32"].encode(texts[:TIMED])
    seconds = alternate(
        {name: lambda _, name=name: classifiers[name].probabilities(encoded) for name in PRECISIONS},
        options.repetitions, options.clock,
    )  # fmt: skip
    seconds.show(f"predicting {TIMED} texts of {options.set}")
    save(options, machine, {"agreement": found, "time": seconds.as_json()})


if __name__ == "__main__":
    main()
