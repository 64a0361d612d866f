"""Sun and Lu (ACL 2020), Figures 2 to 5 as numbers: how well scores separate the categories of words.

Understanding Attention for Text Classification, doi:10.18653/v1/2020.acl-main.312.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from transformers import set_seed

from salience.audit.words import NEUTRAL
from salience.classify import TextClassifier
from salience.data.splitting import drawn
from salience.data.task import Task
from salience.papers.attention_classifiers.building import build_attention_classifier
from salience.papers.attention_classifiers.options import AttentionOptions, WordRecipe
from salience.papers.datasets import load, train_classifier
from salience.papers.table import Cell, Row, Table, every_set_and_seed, first_seed_rows, markdown, rows_by_set
from salience.papers.uaftc.analysis import Analysis, analyse, polarity_of, sweep
from salience.papers.uaftc.page import by_frequency, weight_boxes
from salience.papers.uaftc.table2 import L2, LONGEST, PAPER, RECIPES
from salience.report.pictures import COLOURS, GREY, save
from salience.training.recipe import Recipe

DRAWN = 300  # largest number of words of a category that is recorded for the pictures
PENALTY = 1e-4  # weight of the size of V^T W in the loss
ROWS = 1000  # training rows of MiniLM


@dataclass(frozen=True)
class Figure:
    """A trained model that is analysed, and what the paper shows of it."""

    shown: str
    data: str = "sst2"
    encoder: str = "embeddings"
    pooling: str = "dot"
    scale: float = 10.0
    penalty: float = 0.0  # weight of the size of V^T W in the loss
    embeddings: str | None = None

    @property
    def options(self) -> AttentionOptions:
        """The attention classifier."""
        return AttentionOptions(self.encoder, self.pooling, scale=self.scale, embeddings=self.embeddings)


BY_CLASS = "polarity by the class, neutral near 0; "
FIGURES = {
    "sst2": Figure(BY_CLASS + "class words are attended to more, positive less than negative"),
    "imdb": Figure(BY_CLASS + "both classes' words are attended to more", data="imdb-short"),
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


def separation(analysis: Analysis) -> Row:
    """The size and the mean scores of each category, and how well attention separates it from the neutral words.

    "area" is the area under the ROC curve: the probability that a word of the class has a higher attention score than
    a neutral one. "points" are what the pictures show of some words. Weights are those of the words that occur in the
    test texts, or in the training texts if there are none.
    """
    category, frequency = analysis.words.category, analysis.words.counts.sum(1)
    attention, polarities = analysis.alone.attention.numpy(), analysis.alone.polarity.numpy()
    weighed = analysis.in_test or analysis.in_texts
    weight, tested = weighed.weight.numpy(), weighed.occurrences.numpy() > 0
    neutral = category == NEUTRAL
    # "area" is under the ROC curve: how often a word of the class has a higher score than a neutral one.
    found: Row = {"words": {}, "attention": {}, "polarity": {}, "median weight": {}, "area": {}}
    points: dict[str, dict[str, list[float]]] = {}
    for number in sorted(set(category[category >= NEUTRAL].tolist())):
        key, chosen = "neutral" if number == NEUTRAL else str(number), category == number
        polarity = polarity_of(polarities, number)
        found["words"][key] = int(chosen.sum())
        found["attention"][key] = float(attention[chosen].mean())
        found["polarity"][key] = float(polarity[chosen].mean())
        found["median weight"][key] = float(np.median(weight[chosen & tested]))
        if number != NEUTRAL:
            both = chosen | neutral
            found["area"][key] = float(roc_auc_score(chosen[both], attention[both]))
        some = thinned(chosen)
        points[key] = {
            "frequency": frequency[some].tolist(), "attention": rounded(attention[some]),
            "polarity": rounded(polarity[some]), "weight": rounded(weight[thinned(chosen & tested)]),
        }  # fmt: skip
    return {**found, "|V^T W|": analysis.alignment, "points": points}


def thinned(chosen: np.ndarray) -> np.ndarray:
    """The indices of the chosen words, evenly thinned out to at most `DRAWN`."""
    indices = np.flatnonzero(chosen)
    return indices[:: max(1, -(-len(indices) // DRAWN))]


def rounded(values: np.ndarray) -> list[float]:
    """To four significant digits."""
    return [float(f"{value:.4g}") for value in values]


def run(cell: Cell, data_dir: Path | None) -> Row:
    """Trains one model and measures the scores of its words by category."""
    started, figure = time.time(), FIGURES[cell.set]
    train = from_scratch if figure.encoder == "embeddings" else over_a_transformer
    data = load(figure.data, data_dir, cell.seed)
    analysis = train(figure, data, cell.seed)
    return {
        "accuracy": analysis.test_accuracy, "scale": analysis.scale, "labels": list(data.labels),
        **separation(analysis), "seconds": round(time.time() - started, 1),
    }  # fmt: skip


def from_scratch(figure: Figure, data: Task, seed: int) -> Analysis:
    """Trains attention over word embeddings, as in Table 2."""
    decay = L2 if figure.pooling == "additive" else 0.0
    recipe = WordRecipe(weight_decay=decay, alignment=figure.penalty, **RECIPES.get(figure.data, {}))
    (analysis,) = sweep(figure.options, recipe, data, [figure.scale], seed, LONGEST, say=lambda line: None)
    return analysis


def over_a_transformer(figure: Figure, data: Task, seed: int) -> Analysis:
    """Trains attention over MiniLM on 1,000 rows with the default recipe."""
    # The words are word pieces, and are counted in all training rows.
    set_seed(seed)
    model, tokenizer = build_attention_classifier(figure.options, data.labels, data.training.texts, lambda line: None)
    recipe = Recipe(data=figure.data, method="plain", seed=seed)
    some = replace(data, training=drawn(data.training, ROWS, seed))
    classifier, _ = train_classifier(TextClassifier(model, tokenizer, LONGEST), some, recipe)
    return analyse(classifier.model, classifier.tokenizer, data, LONGEST)


def report(rows: list[Row]) -> str:
    """A line for each category of words, with means over seeds; the first line of a set has what the paper shows."""
    columns = (
        "set", "seeds", "category", "words", "attention score", "polarity score", "median weight", "area", "paper"
    )  # fmt: skip
    lines = []
    for name, own in rows_by_set(rows, FIGURES).items():
        for place, category in enumerate(own[0]["words"]):
            values = [
                [row[key][category] for row in own if category in row[key]]
                for key in ("words", "attention", "polarity", "median weight", "area")
            ]
            label = category if category == "neutral" else own[0]["labels"][int(category)]
            forms = (".0f", ".3g", ".3g", ".3g", ".3g")
            means = [format(np.mean(each), form) if each else "" for each, form in zip(values, forms, strict=True)]
            lines.append([name, str(len(own)), label, *means, "" if place else FIGURES[name].shown])
    explained = "Area: the chance that a word of the class is attended to more than a neutral one."
    return f"{markdown(columns, lines)}\n\n{explained}"


def pictures(rows: list[Row], folder: Path) -> Iterator[str]:
    """Figures 2 to 5 for each set, of the first seed: polarity and attention scores of words over their frequency,
    and their mean attention weights."""
    for name, row in first_seed_rows(rows).items():
        save(partial(draw_words, row=row), folder / f"words-{name}", (13, 4.2), (1, 3))
        yield f"words-{name}"


def draw_words(axes, row: Row) -> None:
    """Draws a row into three axes: polarity scores, attention scores, mean weights."""
    polarity, attention, weights = axes
    names, colours = [], []
    for category, words in row["points"].items():
        neutral = category == "neutral"
        names.append("neutral" if neutral else row["labels"][int(category)])
        colours.append(GREY if neutral else COLOURS[int(category) % len(COLOURS)])
        for panel, score in ((polarity, "polarity"), (attention, "attention")):
            by_frequency(panel, words["frequency"], words[score], names[-1], colours[-1])
            panel.set_ylabel(f"{score} score")
    weight_boxes(weights, [words["weight"] for words in row["points"].values()], names, colours)
    polarity.set_title(f"{row['set']}: words of a class, scale {row['scale']:g}", loc="left")
    polarity.legend(frameon=False)


TABLE = Table(
    name="uaftc-figures",
    paper=PAPER,
    published={name: figure.shown for name, figure in FIGURES.items()},
    cell=Cell,
    keys=("accuracy", "scale", "labels", "words", "attention", "polarity", "median weight", "area", "points"),
    cells=every_set_and_seed,
    run=run,
    report=report,
    pictures=pictures,
)
