"""Sun and Lu (ACL 2020), Table 2: accuracy of four models on four data sets over seven scales of attention.

Understanding Attention for Text Classification, doi:10.18653/v1/2020.acl-main.312.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from salience.papers.attention_classifiers.options import AttentionOptions, WordRecipe
from salience.papers.datasets import load
from salience.papers.table import Row, Table, markdown, rows_by_set
from salience.papers.uaftc.training import fit_words
from salience.report.pictures import COLOURS, save

PAPER = "Sun and Lu, Understanding Attention for Text Classification, ACL 2020, doi:10.18653/v1/2020.acl-main.312"
SCALES = (0.001, 1, 10, 20, 50, 100, 10000)
MODELS = {
    "DP": AttentionOptions("embeddings", "dot"),
    "DP-L": AttentionOptions("lstm", "dot"),
    "DP-A": AttentionOptions("affine", "dot"),
    "AD": AttentionOptions("embeddings", "additive"),
}
L2 = 1e-4  # weight decay of DP-L, DP-A and AD; the paper uses some and does not say how much
LONGEST = 400  # words read of a text
# Settings other than the default, by data set. An epoch has 173 steps on IMDB, and 12 to 69 on the other sets.
RECIPES: dict[str, dict[str, Any]] = {"imdb-short": {"epochs": 20}}

# Accuracy in percent by data set: a line for every scale, a column for every model, in the order above.
PUBLISHED = {
    "sst2": ["55.3 79.8 67.9 62.8", "74.4 81.2 73.4 73.4", "82.2 81.7 80.8 80.3", "81.4 80.9 81.0 81.2",
             "80.8 82.0 81.5 79.9", "81.2 81.1 80.7 80.8", "79.6 81.4 79.3 80.8"],
    "imdb-short": ["55.5 87.7 73.3 69.8", "79.5 88.2 85.4 83.7", "89.2 87.8 89.6 88.2", "89.6 88.1 89.6 89.6",
             "89.8 87.2 89.1 88.5", "89.3 88.3 89.2 88.8", "89.3 88.4 88.9 88.9"],
    "20news-1": ["54.8 88.6 78.6 49.4", "88.4 93.0 85.3 87.6", "92.8 91.2 92.8 92.0", "93.5 92.2 93.5 91.2",
                 "93.3 92.3 92.2 91.7", "92.8 91.2 92.8 93.3", "92.8 92.0 93.0 92.0"],
    "20news-2": ["31.8 90.1 64.6 59.2", "85.4 92.3 88.3 86.7", "93.4 93.4 91.7 90.0", "94.9 94.2 93.3 92.1",
                 "94.9 92.3 92.9 93.8", "94.9 93.1 92.9 92.9", "94.5 93.8 92.5 92.9"],
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One trained model."""

    set: str
    model: str  # of MODELS
    scale: float
    seed: int


def cells(sets: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
    """Every model and scale, set by set within a seed."""
    return [Cell(name, model, scale, seed) for seed in seeds for name in sets for model in MODELS for scale in SCALES]


def published(cell: Cell) -> float:
    """The paper's accuracy in percent."""
    return float(PUBLISHED[cell.set][SCALES.index(cell.scale)].split()[list(MODELS).index(cell.model)])


def run(cell: Cell, data_dir: Path | None) -> Row:
    """Trains one model; `accuracy` is the test accuracy of the epoch with the best validation accuracy."""
    data = load(cell.set, data_dir, cell.seed)
    recipe = WordRecipe(weight_decay=0.0 if cell.model == "DP" else L2, **RECIPES.get(cell.set, {}))
    started = time.time()
    fitted = fit_words(replace(MODELS[cell.model], scale=cell.scale), recipe, data, seed=cell.seed, max_length=LONGEST)
    return {
        "accuracy": fitted.test_accuracy, "validation_accuracy": max(fitted.accuracies),
        "best_epoch": fitted.best_epoch, "epochs": len(fitted.accuracies), "published": published(cell) / 100,
        "vocabulary": len(fitted.tokenizer), "seconds": round(time.time() - started, 1),
    }  # fmt: skip


def report(rows: list[Row]) -> str:
    """A table for each data set: mean and standard deviation over seeds, with the paper's accuracy in brackets."""
    parts = []
    for name, own in rows_by_set(rows).items():
        seeds = sorted({row["seed"] for row in own})
        tolerance = 3 if name.startswith("20news") else 2  # points
        near = []  # for each entry with scale 10 or larger, whether it is within the tolerance
        lines = []
        for scale in SCALES:
            entries = []
            for model in MODELS:
                found = [100 * row["accuracy"] for row in own if (row["model"], row["scale"]) == (model, scale)]
                expected = published(Cell(name, model, scale, 0))
                mean = f"{np.mean(found):.1f}" if found else "-"
                deviation = f" ± {np.std(found, ddof=1):.1f}" if len(found) > 1 else ""
                entries.append(f"{mean}{deviation} ({expected:.1f})")
                if found and scale >= 10:
                    near.append(abs(np.mean(found) - expected) <= tolerance)
            lines.append([f"{scale:g}", *entries])
        parts += [
            f"{name}, seeds {', '.join(map(str, seeds))}: ours (paper)", markdown(["scale", *MODELS], lines),
            f"scale 10 and larger: {sum(near)} of {len(near)} within {tolerance} points",
        ]  # fmt: skip
    return "\n\n".join(parts)


def pictures(rows: list[Row], folder: Path) -> Iterator[str]:
    """A picture for each data set: accuracy over the scale, as lines for our means over seeds, and crosses for the
    paper."""
    for name, own in rows_by_set(rows).items():
        save(partial(draw_scales, rows=own), folder / f"scales-{name}")
        yield f"scales-{name}"


def draw_scales(axes, rows: list[Row]) -> None:
    """Draws the rows of one data set into axes."""
    for colour, model in zip(COLOURS, MODELS, strict=False):
        of_model = [row for row in rows if row["model"] == model]
        scales = sorted({row["scale"] for row in of_model})
        means = [100 * np.mean([row["accuracy"] for row in of_model if row["scale"] == scale]) for scale in scales]
        expected = [100 * next(row["published"] for row in of_model if row["scale"] == scale) for scale in scales]
        axes.plot(scales, means, marker="o", color=colour, label=model)
        axes.plot(scales, expected, marker="x", linestyle="none", color=colour)
    axes.set(xscale="log", xlabel="scale of attention", ylabel="test accuracy, percent")
    axes.set_title(f"{rows[0]['set']}: ours (lines), the paper's (crosses)", loc="left")
    axes.legend(frameon=False)


TABLE = Table(
    name="uaftc-table2",
    paper=PAPER,
    published=PUBLISHED,
    cell=Cell,
    keys=("accuracy", "published"),
    cells=cells,
    run=run,
    report=report,
    pictures=pictures,
)
