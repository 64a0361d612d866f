"""Sun and Lu (ACL 2020), Table 2: accuracy of four models on four data sets over seven scales of attention."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from salience.models.attention_models import AttentionOptions
from salience.reproduce.datasets import load
from salience.training.word_models import WordRecipe, fit_words

SCALES = (0.001, 1, 10, 20, 50, 100, 10000)
MODELS = {
    "DP": AttentionOptions("embeddings", "dot"),
    "DP-L": AttentionOptions("lstm", "dot"),
    "DP-A": AttentionOptions("affine", "dot"),
    "AD": AttentionOptions("embeddings", "additive"),
}
L2 = 1e-4  # of DP-L, DP-A and AD; the paper says that there is some
LONGEST = 400  # words read of a text
RECIPES = {"imdb": {"epochs": 8}}  # of 140 steps each; the other sets have 40 epochs of 12 to 69 steps

# Accuracy in percent: rows are scales, columns models, both in the order above.
PUBLISHED = {
    "sst2": ["55.3 79.8 67.9 62.8", "74.4 81.2 73.4 73.4", "82.2 81.7 80.8 80.3", "81.4 80.9 81.0 81.2",
             "80.8 82.0 81.5 79.9", "81.2 81.1 80.7 80.8", "79.6 81.4 79.3 80.8"],
    "imdb": ["55.5 87.7 73.3 69.8", "79.5 88.2 85.4 83.7", "89.2 87.8 89.6 88.2", "89.6 88.1 89.6 89.6",
             "89.8 87.2 89.1 88.5", "89.3 88.3 89.2 88.8", "89.3 88.4 88.9 88.9"],
    "20news-1": ["54.8 88.6 78.6 49.4", "88.4 93.0 85.3 87.6", "92.8 91.2 92.8 92.0", "93.5 92.2 93.5 91.2",
                 "93.3 92.3 92.2 91.7", "92.8 91.2 92.8 93.3", "92.8 92.0 93.0 92.0"],
    "20news-2": ["31.8 90.1 64.6 59.2", "85.4 92.3 88.3 86.7", "93.4 93.4 91.7 90.0", "94.9 94.2 93.3 92.1",
                 "94.9 92.3 92.9 93.8", "94.9 93.1 92.9 92.9", "94.5 93.8 92.5 92.9"],
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    set: str
    model: str
    scale: float
    seed: int


def cells(sets: list[str], seeds: list[int]) -> list[Cell]:
    """Every run of the table, in an order in which a set is read once."""
    return [Cell(name, model, scale, seed) for seed in seeds for name in sets for model in MODELS for scale in SCALES]


def published(cell: Cell) -> float:
    return float(PUBLISHED[cell.set][SCALES.index(cell.scale)].split()[list(MODELS).index(cell.model)])


def run(cell: Cell, data_dir: Path | None) -> dict:
    """One cell: test accuracy of the epoch that did best on validation."""
    data = load(cell.set, data_dir, cell.seed)
    recipe = WordRecipe(weight_decay=0.0 if cell.model == "DP" else L2, **RECIPES.get(cell.set, {}))
    started = time.time()
    fitted = fit_words(replace(MODELS[cell.model], scale=cell.scale), recipe, data, seed=cell.seed, max_length=LONGEST)
    return {
        "accuracy": fitted.test_accuracy, "validation_accuracy": max(fitted.accuracies),
        "best_epoch": fitted.best_epoch, "epochs": len(fitted.accuracies), "published": published(cell) / 100,
        "vocabulary": len(fitted.tokenizer), "seconds": round(time.time() - started, 1),
    }  # fmt: skip


def report(rows: list[dict]) -> str:
    """The table as markdown: ours, over seeds the mean and its spread, beside the paper's."""
    lines = []
    for name in dict.fromkeys(row["set"] for row in rows):
        own = [row for row in rows if row["set"] == name]
        seeds = sorted({row["seed"] for row in own})
        lines += ["", f"{name}, seeds {', '.join(map(str, seeds))}: ours (paper)", "",
                  "| scale | " + " | ".join(MODELS) + " |", "|---" * (len(MODELS) + 1) + "|"]  # fmt: skip
        near = []  # of each cell with scale 10 or larger: whether it comes near the paper
        for scale in SCALES:
            entries = []
            for model in MODELS:
                found = [100 * row["accuracy"] for row in own if (row["model"], row["scale"]) == (model, scale)]
                told = published(Cell(name, model, scale, 0))
                entries.append(f"{ours(found)} ({told:.1f})")
                if found and scale >= 10:
                    near.append(abs(np.mean(found) - told) <= 100 * tolerance(name))
            lines.append(f"| {scale:g} | " + " | ".join(entries) + " |")
        lines += ["", f"scale 10 and larger: {sum(near)} of {len(near)} within {100 * tolerance(name):g} points"]
    return "\n".join(lines).strip()


def ours(found: list[float]) -> str:
    """The mean and, of several seeds, their standard deviation; a dash for what has not been run."""
    if not found:
        return "-"
    return f"{np.mean(found):.1f}" + (f" ± {np.std(found, ddof=1):.1f}" if len(found) > 1 else "")


def tolerance(name: str) -> float:
    return 0.03 if name.startswith("20news") else 0.02
