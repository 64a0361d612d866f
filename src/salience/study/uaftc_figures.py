"""Sun and Lu (ACL 2020), Figures 2 to 5 as numbers: how well scores tell the categories of words apart."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from transformers import set_seed

from salience.analysis.association import NEUTRAL
from salience.models.attention_models import AttentionOptions, build_attention_classifier
from salience.study.attention import Analysis, analyse, sweep
from salience.study.cells import Cell, cells
from salience.study.datasets import DataSet, load
from salience.study.faithfulness import Reader
from salience.study.training import drawn, encode, train_reader
from salience.study.uaftc_table2 import LONGEST, RECIPES
from salience.study.word_models import WordRecipe, accuracy
from salience.training.recipe import Recipe

__all__ = ["PUBLISHED", "Cell", "cells", "report", "run"]  # a table of `salience reproduce`

# Which figure shows which model on which set, and what the paper sees there.
PUBLISHED = {
    "sst2": "polarity by the class, neutral near 0; class words are attended to more, positive less than negative",
    "imdb": "polarity by the class, neutral near 0; both classes' words are attended to more",
    "20news-1": "polarity by the class, neutral near 0; both classes' words are attended to more",
    "sst2-100": "scale 100: polarities are larger; positive words are attended to less than neutral and negative ones",
    "sst2-100-penalty": "scale 100 with |V^T W| penalised: both classes' words are attended to more than neutral ones",
    "20news-2": "the classes' words are attended to more than neutral ones",
    "sst2-additive": "additive attention: as dot attention",
    "sst2-pretrained": "embeddings that begin as MiniLM's word rows: left open",
    "sst2-transformer": "dot attention over MiniLM: left open",
}
PENALTY, SCALE, ROWS = 1e-4, 10.0, 1000


def run(cell: Cell, data_dir: Path | None) -> dict:
    started = time.time()
    name = next(own for own in ("sst2", "imdb", "20news-1", "20news-2") if cell.set.startswith(own))
    train = over_a_transformer if "transformer" in cell.set else from_scratch
    found = train(cell, load(name, data_dir, cell.seed))
    return {"accuracy": found.test_accuracy, "scale": found.scale} | separation(found) | {
        "seconds": round(time.time() - started, 1)
    }  # fmt: skip


def from_scratch(cell: Cell, data: DataSet) -> Analysis:
    options = AttentionOptions(
        "embeddings", "additive" if "additive" in cell.set else "dot",
        embeddings="minilm" if "pretrained" in cell.set else None,
    )  # fmt: skip
    recipe = WordRecipe(alignment=PENALTY if "penalty" in cell.set else 0.0, **RECIPES.get(data.name, {}))
    scale = 100.0 if "-100" in cell.set else SCALE
    (found,) = sweep(options, recipe, data, [scale], cell.seed, LONGEST, say=lambda line: None)
    return found


def over_a_transformer(cell: Cell, data: DataSet) -> Analysis:
    """Trained on 1,000 rows with the default recipe; words, here word pieces, are counted in all of them."""
    set_seed(cell.seed)
    options = AttentionOptions("minilm", "dot", scale=SCALE)
    model, tokenizer = build_attention_classifier(options, data.labels, data.training.texts, lambda line: None)
    recipe = Recipe(data=data.name, method="plain", seed=cell.seed)
    some = replace(data, training=drawn(data.training, ROWS, cell.seed))
    reader, _ = train_reader(Reader(model, tokenizer, LONGEST), some, recipe)
    found = analyse(reader.model, reader.tokenizer, data, LONGEST)
    return replace(found, test_accuracy=accuracy(reader.model, encode(reader, data.test)))


def separation(analysis: Analysis) -> dict:
    """How many words each category has, their mean scores, and how well attention scores tell them from neutral words.

    The area under the ROC curve is the chance that a word of the class is attended to more than a neutral one.
    """
    category = analysis.words.category
    neutral, attention = category == NEUTRAL, analysis.alone.attention.numpy()
    polarity, weight = analysis.alone.polarity.numpy(), (analysis.in_test or analysis.in_texts).weight.numpy()
    tested = (analysis.in_test or analysis.in_texts).occurrences.numpy() > 0
    found = {"words": {}, "attention": {}, "polarity": {}, "median weight": {}, "area": {}}
    for own in sorted(set(category[category >= NEUTRAL].tolist())):
        chosen, key = category == own, "neutral" if own == NEUTRAL else str(own)
        found["words"][key] = int(chosen.sum())
        found["attention"][key] = float(attention[chosen].mean())
        found["polarity"][key] = float(polarity[chosen, max(own, 0) % polarity.shape[1]].mean())
        found["median weight"][key] = float(np.median(weight[chosen & tested]))
        if own != NEUTRAL:
            both = chosen | neutral
            found["area"][key] = float(roc_auc_score(chosen[both], attention[both]))
    return {**found, "|V^T W|": analysis.alignment}


def report(rows: list[dict]) -> str:
    lines = ["| set | seeds | words | attention score | polarity score | median weight | area over neutral | paper |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for name, told in PUBLISHED.items():
        own = [row for row in rows if row["set"] == name]
        if own:
            columns = (shown(own, key) for key in ("words", "attention", "polarity", "median weight", "area"))
            lines.append(f"| {name} | {len(own)} | " + " | ".join(columns) + f" | {told} |")
    return "\n".join([*lines, "", "Categories: 0, 1, ... are the classes (1 of two is the positive one)."])


def shown(rows: list[dict], key: str) -> str:
    return ", ".join(f"{kind} {np.mean([row[key][kind] for row in rows]):.3g}" for kind in sorted(rows[0][key]))
