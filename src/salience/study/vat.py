"""Zhou et al. (Findings of ACL 2021), Tables 2 and 6: base, ATT and VAT over an LSTM and a transformer.

ATT is VAT's iteration 0, so one training gives both. What the paper leaves open (batches, epochs, dropout) is the
default recipe of salience, with the Adam-like learning rate that the paper gives for its LSTM. GloVe is replaced by
random word vectors or MiniLM's, BERT-base by MiniLM.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import ttest_rel
from transformers import set_seed

from salience.data.encoding import encode_texts
from salience.models.attention_models import PRESETS, build_attention_classifier
from salience.study.datasets import load
from salience.study.word_models import accuracy
from salience.training.fitting import build_trainer
from salience.training.recipe import Recipe
from salience.training.turns import fit_model

ITERATIONS, LONGEST = 5, 256
EPOCHS = {"lstm": 10, "bert": 3}
LEARNING_RATE = {"lstm": 1e-3, "bert": None}  # the default, which follows the width
ENCODERS = ("lstm-random", "lstm-minilm", "bert-minilm")

# Accuracy in percent: LSTM-base, -ATT, -VAT, BERT-base, -ATT, -VAT.
PUBLISHED = {
    "trec": (90.00, 91.00, 92.80, 96.60, 96.40, 97.20),
    "sst5": (45.20, 46.29, 47.42, 51.44, 51.13, 51.99),
    "sst2": (85.45, 84.73, 86.22, 91.60, 91.16, 91.98),
    "subj": (89.00, 90.80, 91.10, 96.50, 96.20, 96.70),
    "ag_news": (91.91, 91.88, 92.04, 93.52, 93.41, 93.71),
    "mr": None,
}


@dataclass(frozen=True)
class Cell:
    set: str
    encoder: str
    model: str  # "base" or "vat"
    seed: int


def cells(sets: list[str], seeds: list[int]) -> list[Cell]:
    return [
        Cell(name, encoder, model, seed)
        for seed in seeds for encoder in ENCODERS for name in sets for model in ("base", "vat")
    ]  # fmt: skip


def run(cell: Cell, data_dir: Path | None) -> dict:
    """One training; of VAT the test accuracy of every iteration, of which validation has chosen one."""
    started, data = time.time(), load(cell.set, data_dir, cell.seed)
    kind, vectors = cell.encoder.split("-")
    options = PRESETS[f"{kind}-{cell.model}"]
    if kind == "lstm" and vectors == "minilm":
        options = replace(options, embeddings="minilm")
    set_seed(cell.seed)
    model, tokenizer = build_attention_classifier(
        options, data.labels, data.training.texts, lambda line: None, split=not data.tokenised
    )
    training, validation, test = (
        encode_texts(tokenizer, part.texts, labels=part.labels, max_length=LONGEST)
        for part in (data.training, data.validation, data.test)
    )
    recipe = Recipe(
        data=cell.set, method="plain", iterations=ITERATIONS, seed=cell.seed, learning_rate=LEARNING_RATE[kind],
        steps=EPOCHS[kind] * len(training) // 32, batch_size=32,
    ).resolved(len(training), len(data.labels), model.config.hidden_size)  # fmt: skip
    tested: list[float] = []
    build = partial(
        build_trainer, model=model, tokenizer=tokenizer, method=None, training=training, validation=validation
    )
    with TemporaryDirectory() as folder:
        model, _, iterations = fit_model(
            recipe, build, Path(folder), watch=lambda own: tested.append(accuracy(own, test))
        )
    found = {"accuracy": accuracy(model, test), "seconds": round(time.time() - started, 1)}
    if iterations:
        found["validation"] = [row["validation_accuracy"] for row in iterations]
        found["test"] = tested
        found["chosen"] = int(np.argmax(found["validation"]))
    return found


def report(rows: list[dict]) -> str:
    """Means and spread over seeds beside the paper's, and whether VAT > ATT > base beyond chance (paired t)."""
    lines = ["| set | encoder | seeds | base | ATT | VAT | paper | ATT - base | VAT - ATT |", "|---" * 9 + "|"]
    for name, encoder in dict.fromkeys((row["set"], row["encoder"]) for row in rows):
        own = {(row["model"], row["seed"]): row for row in rows if (row["set"], row["encoder"]) == (name, encoder)}
        seeds = sorted(seed for model, seed in own if model == "vat" and ("base", seed) in own)
        if not seeds:
            continue
        base = np.array([100 * own["base", seed]["accuracy"] for seed in seeds])
        attention = np.array([100 * own["vat", seed]["test"][0] for seed in seeds])
        turns = np.array([100 * own["vat", seed]["accuracy"] for seed in seeds])
        told = PUBLISHED[name] and PUBLISHED[name][3 * encoder.startswith("bert") :][:3]
        paper = "-" if told is None else " ".join(f"{value:.1f}" for value in told)
        lines.append(
            f"| {name} | {encoder} | {len(seeds)} | {spread(base)} | {spread(attention)} | {spread(turns)} | {paper} "
            f"| {gain(attention, base)} | {gain(turns, attention)} |"
        )
    return "\n".join([*lines, "", *by_iteration(rows)])


def spread(values: np.ndarray) -> str:
    return f"{values.mean():.2f} ± {values.std(ddof=1):.2f}" if len(values) > 1 else f"{values[0]:.2f}"


def gain(values: np.ndarray, others: np.ndarray) -> str:
    """The mean difference with its 95 % interval, paired by seed."""
    if len(values) < 2 or np.allclose(values, others):
        return f"{(values - others).mean():+.2f}"
    low, high = ttest_rel(values, others).confidence_interval()
    return f"{(values - others).mean():+.2f} [{low:+.2f}, {high:+.2f}]"


def by_iteration(rows: list[dict]) -> list[str]:
    """Table 6: test accuracy by iteration, whichever was chosen."""
    lines = [
        "| set | encoder | " + " | ".join(map(str, range(ITERATIONS + 1))) + " |",
        "|---" * (ITERATIONS + 3) + "|",
    ]
    for name, encoder in dict.fromkeys((row["set"], row["encoder"]) for row in rows):
        tested = [row["test"] for row in rows if (row["set"], row["encoder"]) == (name, encoder) and "test" in row]
        if tested:
            means = " | ".join(f"{100 * value:.2f}" for value in np.mean(tested, axis=0))
            lines.append(f"| {name} | {encoder} | {means} |")
    return lines
