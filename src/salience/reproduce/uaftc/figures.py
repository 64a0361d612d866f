"""Sun and Lu (ACL 2020), Figures 2 to 5 as numbers: how well scores tell the categories of words apart."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from transformers import set_seed

from salience.analysis.association import NEUTRAL
from salience.analysis.token_scores import polarity_of
from salience.comparison.attention import Analysis, analyse, sweep
from salience.data.datasets import DataSet
from salience.inference import TextClassifier
from salience.models.attention_models import AttentionOptions, build_attention_classifier
from salience.reproduce.cells import Cell, cells
from salience.reproduce.datasets import load
from salience.reproduce.training import drawn, train_classifier
from salience.reproduce.uaftc.table2 import L2, LONGEST, RECIPES
from salience.training.recipe import Recipe
from salience.training.word_models import WordRecipe

__all__ = ["PUBLISHED", "Cell", "cells", "report", "run"]  # a table of `salience reproduce`

PENALTY, ROWS = 1e-4, 1000
DRAWN = 300  # words of a category in the pictures, at most
HEAD = "| set | seeds | category | words | attention score | polarity score | median weight | area | paper |"


@dataclass(frozen=True)
class Figure:
    """One trained model that is looked at, and what the paper sees in its figure."""

    told: str
    data: str = "sst2"
    encoder: str = "embeddings"
    pooling: str = "dot"
    scale: float = 10.0
    penalty: float = 0.0  # of the size of V^T W
    embeddings: str | None = None

    @property
    def options(self) -> AttentionOptions:
        return AttentionOptions(self.encoder, self.pooling, scale=self.scale, embeddings=self.embeddings)


BY_CLASS = "polarity by the class, neutral near 0; "
PUBLISHED = {
    "sst2": Figure(BY_CLASS + "class words are attended to more, positive less than negative"),
    "imdb": Figure(BY_CLASS + "both classes' words are attended to more", data="imdb"),
    "20news-1": Figure(BY_CLASS + "both classes' words are attended to more", data="20news-1"),
    "sst2-100": Figure(
        "polarities are larger; positive words are attended to less than neutral and negative ones", scale=100.0
    ),
    "sst2-100-penalty": Figure(
        "both classes' words are attended to more than neutral ones", scale=100.0, penalty=PENALTY
    ),
    "20news-2": Figure("the classes' words are attended to more than neutral ones", data="20news-2"),
    "sst2-additive": Figure("as dot attention", pooling="additive"),
    "sst2-pretrained": Figure("left open: embeddings that begin as MiniLM's word rows", embeddings="minilm"),
    "sst2-transformer": Figure("left open: attention over MiniLM", encoder="minilm"),
}


def run(cell: Cell, data_dir: Path | None) -> dict:
    started, figure = time.time(), PUBLISHED[cell.set]
    train = from_scratch if figure.encoder == "embeddings" else over_a_transformer
    data = load(figure.data, data_dir, cell.seed)
    found = train(figure, data, cell.seed)
    return {"accuracy": found.test_accuracy, "scale": found.scale, "labels": list(data.labels)} | separation(found) | {
        "points": points(found), "seconds": round(time.time() - started, 1)
    }  # fmt: skip


def from_scratch(figure: Figure, data: DataSet, seed: int) -> Analysis:
    decay = L2 if figure.pooling == "additive" else 0.0  # as in Table 2
    recipe = WordRecipe(weight_decay=decay, alignment=figure.penalty, **RECIPES.get(data.name, {}))
    (found,) = sweep(figure.options, recipe, data, [figure.scale], seed, LONGEST, say=lambda line: None)
    return found


def over_a_transformer(figure: Figure, data: DataSet, seed: int) -> Analysis:
    """Trained on 1,000 rows with the default recipe; words, here word pieces, are counted in all of them."""
    set_seed(seed)
    model, tokenizer = build_attention_classifier(figure.options, data.labels, data.training.texts, lambda line: None)
    recipe = Recipe(data=data.name, method="plain", seed=seed)
    some = replace(data, training=drawn(data.training, ROWS, seed))
    classifier, _ = train_classifier(TextClassifier(model, tokenizer, LONGEST), some, recipe)
    return analyse(classifier.model, classifier.tokenizer, data, LONGEST)


def separation(analysis: Analysis) -> dict:
    """How many words each category has, their mean scores, and how well attention scores tell them from neutral words.

    The area under the ROC curve is the chance that a word of the class is attended to more than a neutral one.
    """
    neutral, attention = analysis.words.category == NEUTRAL, analysis.alone.attention.numpy()
    polarity, (weight, tested) = analysis.alone.polarity.numpy(), weights(analysis)
    found = {"words": {}, "attention": {}, "polarity": {}, "median weight": {}, "area": {}}
    for own, key in categories_of(analysis):
        chosen = analysis.words.category == own
        found["words"][key] = int(chosen.sum())
        found["attention"][key] = float(attention[chosen].mean())
        found["polarity"][key] = float(polarity_of(polarity, own)[chosen].mean())
        found["median weight"][key] = float(np.median(weight[chosen & tested]))
        if own != NEUTRAL:
            both = chosen | neutral
            found["area"][key] = float(roc_auc_score(chosen[both], attention[both]))
    return {**found, "|V^T W|": analysis.alignment}


def points(analysis: Analysis) -> dict[str, dict[str, list[float]]]:
    """What the pictures show: the frequency, the scores and the mean weight of words, some of each category.

    Weights are those of words that the test texts have.
    """
    frequency, polarity = analysis.words.counts.sum(1), analysis.alone.polarity.numpy()
    weight, tested = weights(analysis)
    found = {}
    for own, key in categories_of(analysis):
        chosen = some(analysis.words.category == own)
        scores = {"attention": analysis.alone.attention.numpy(), "polarity": polarity_of(polarity, own)}
        found[key] = {"frequency": frequency[chosen].tolist()} | {
            name: rounded(values[chosen]) for name, values in scores.items()
        } | {"weight": rounded(weight[some((analysis.words.category == own) & tested)])}  # fmt: skip
    return found


def categories_of(analysis: Analysis) -> list[tuple[int, str]]:
    """Number and name of the categories that have words, but for the words of no category."""
    found = analysis.words.category
    return [(own, "neutral" if own == NEUTRAL else str(own)) for own in sorted(set(found[found >= NEUTRAL].tolist()))]


def weights(analysis: Analysis) -> tuple[np.ndarray, np.ndarray]:
    """Mean attention weights (V,) in the test texts, if there are any, and which words these have (V,)."""
    found = analysis.in_test or analysis.in_texts
    return found.weight.numpy(), found.occurrences.numpy() > 0


def some(chosen: np.ndarray) -> np.ndarray:
    """The numbers of the chosen words, evenly thinned out."""
    found = np.flatnonzero(chosen)
    return found[:: max(1, -(-len(found) // DRAWN))]


def rounded(values: np.ndarray) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def report(rows: list[dict]) -> str:
    """A line for each category of words, means over seeds; what the paper shows stands in a set's first line."""
    lines = [HEAD, "|---" * 9 + "|"]
    for name, figure in PUBLISHED.items():
        own, told = [row for row in rows if row["set"] == name], figure.told
        for category in own[0]["words"] if own else ():
            kind = category if category == "neutral" else own[0]["labels"][int(category)]
            values = (mean(own, key, category) for key in ("attention", "polarity", "median weight", "area"))
            lines.append(
                f"| {name} | {len(own)} | {kind} | {mean(own, 'words', category, '.0f')} | "
                + " | ".join(values) + f" | {told} |"
            )  # fmt: skip
            told = ""
    return "\n".join([*lines, "", "Area: the chance that a word of the class is attended to more than a neutral one."])


def mean(rows: list[dict], key: str, category: str, form: str = ".3g") -> str:
    found = [row[key][category] for row in rows if category in row[key]]
    return format(np.mean(found), form) if found else ""
