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
from salience.papers.attention_classifiers.options import AttentionOptions
from salience.papers.datasets import load, train_classifier
from salience.papers.table import Cell, Row, Table, every_set_and_seed, first_seed_rows
from salience.papers.uaftc.analysis import Analysis, analyse, sweep
from salience.papers.uaftc.page import by_frequency, weight_boxes
from salience.papers.uaftc.table2 import L2, LONGEST, RECIPES
from salience.papers.uaftc.token_scores import polarity_of
from salience.papers.uaftc.training import WordRecipe
from salience.report.pictures import COLOURS, GREY, save
from salience.training.recipe import Recipe

# What a row of Figures 2 to 5 records of a trained model: scores of the categories of words.

DRAWN = 300  # largest number of words of a category that is recorded for the pictures


def separation(analysis: Analysis) -> dict:
    """The size and the mean scores of each category, and how well attention separates it from the neutral words.

    Returns:
        "words", "attention", "polarity" and "median weight" by category; "area" by class, the area under the ROC
        curve, which is the probability that a word of the class has a higher attention score than a neutral one; and
        the alignment "|V^T W|".
    """
    category, attention = analysis.words.category, analysis.alone.attention.numpy()
    polarity, (weight, tested) = analysis.alone.polarity.numpy(), _weights(analysis)
    neutral = category == NEUTRAL
    values: dict = {"words": {}, "attention": {}, "polarity": {}, "median weight": {}, "area": {}}
    for number, key in _categories(analysis):
        chosen = category == number
        values["words"][key] = int(chosen.sum())
        values["attention"][key] = float(attention[chosen].mean())
        values["polarity"][key] = float(polarity_of(polarity, number)[chosen].mean())
        values["median weight"][key] = float(np.median(weight[chosen & tested]))
        if number != NEUTRAL:
            both = chosen | neutral
            values["area"][key] = float(roc_auc_score(chosen[both], attention[both]))
    return {**values, "|V^T W|": analysis.alignment}


def points(analysis: Analysis) -> dict[str, dict[str, list[float]]]:
    """What the pictures show of each category: "frequency", "attention", "polarity" and "weight" of some of its words.

    Frequencies are counted in the training texts. Weights are those of the words that occur in the test texts, so
    that their list may be shorter.
    """
    category, frequency = analysis.words.category, analysis.words.counts.sum(1)
    polarity = analysis.alone.polarity.numpy()
    weight, tested = _weights(analysis)
    values = {}
    for number, key in _categories(analysis):
        chosen = _thinned(category == number)
        scores = {"attention": analysis.alone.attention.numpy(), "polarity": polarity_of(polarity, number)}
        values[key] = {"frequency": frequency[chosen].tolist()} | {
            name: _rounded(score[chosen]) for name, score in scores.items()
        } | {"weight": _rounded(weight[_thinned((category == number) & tested)])}  # fmt: skip
    return values


def _categories(analysis: Analysis) -> list[tuple[int, str]]:
    """Number and key of every category that has words."""
    category = analysis.words.category
    return [
        (number, "neutral" if number == NEUTRAL else str(number))
        for number in sorted(set(category[category >= NEUTRAL].tolist()))
    ]


def _weights(analysis: Analysis) -> tuple[np.ndarray, np.ndarray]:
    """Mean attention weights (V,) in the test texts, or in the training texts if there are none, and whether each word
    occurs there (V,)."""
    scores = analysis.in_test or analysis.in_texts
    return scores.weight.numpy(), scores.occurrences.numpy() > 0


def _thinned(chosen: np.ndarray) -> np.ndarray:
    """The indices of the chosen words, evenly thinned out to at most `DRAWN`."""
    indices = np.flatnonzero(chosen)
    return indices[:: max(1, -(-len(indices) // DRAWN))]


def _rounded(values: np.ndarray) -> list[float]:
    """To four significant digits."""
    return [float(f"{value:.4g}") for value in values]


PENALTY = 1e-4  # weight of the size of V^T W in the loss
ROWS = 1000  # training rows of MiniLM
HEAD = "| set | seeds | category | words | attention score | polarity score | median weight | area | paper |"


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
PUBLISHED = {name: figure.shown for name, figure in FIGURES.items()}


def run(cell: Cell, data_dir: Path | None) -> Row:
    """Trains one model and measures the scores of its words by category."""
    started, figure = time.time(), FIGURES[cell.set]
    train = from_scratch if figure.encoder == "embeddings" else over_a_transformer
    data = load(figure.data, data_dir, cell.seed)
    analysis = train(figure, data, cell.seed)
    return {
        "accuracy": analysis.test_accuracy, "scale": analysis.scale, "labels": list(data.labels),
        **separation(analysis), "points": points(analysis), "seconds": round(time.time() - started, 1),
    }  # fmt: skip


def from_scratch(figure: Figure, data: Task, seed: int) -> Analysis:
    """Trains attention over word embeddings, as in Table 2."""
    decay = L2 if figure.pooling == "additive" else 0.0
    recipe = WordRecipe(weight_decay=decay, alignment=figure.penalty, **RECIPES.get(figure.data, {}))
    (analysis,) = sweep(figure.options, recipe, data, [figure.scale], seed, LONGEST, say=lambda line: None)
    return analysis


def over_a_transformer(figure: Figure, data: Task, seed: int) -> Analysis:
    """Trains attention over MiniLM on 1,000 rows with the default recipe.

    The words are word pieces here. They are counted in all training rows.
    """
    set_seed(seed)
    model, tokenizer = build_attention_classifier(figure.options, data.labels, data.training.texts, lambda line: None)
    recipe = Recipe(data=figure.data, method="plain", seed=seed)
    some = replace(data, training=drawn(data.training, ROWS, seed))
    classifier, _ = train_classifier(TextClassifier(model, tokenizer, LONGEST), some, recipe)
    return analyse(classifier.model, classifier.tokenizer, data, LONGEST)


def report(rows: list[Row]) -> str:
    """A line for each category of words, with means over seeds; the first line of a set has what the paper shows."""
    lines = [HEAD, "|---" * 9 + "|"]
    for name, figure in FIGURES.items():
        of_set, shown = [row for row in rows if row["set"] == name], figure.shown
        for category in of_set[0]["words"] if of_set else ():
            label = category if category == "neutral" else of_set[0]["labels"][int(category)]
            values = (_mean(of_set, key, category) for key in ("attention", "polarity", "median weight", "area"))
            lines.append(
                f"| {name} | {len(of_set)} | {label} | {_mean(of_set, 'words', category, '.0f')} | "
                + " | ".join(values) + f" | {shown} |"
            )  # fmt: skip
            shown = ""
    return "\n".join([*lines, "", "Area: the chance that a word of the class is attended to more than a neutral one."])


def _mean(rows: list[Row], key: str, category: str, form: str = ".3g") -> str:
    values = [row[key][category] for row in rows if category in row[key]]
    return format(np.mean(values), form) if values else ""


def pictures(rows: list[Row], folder: Path) -> Iterator[str]:
    """Figures 2 to 5 for each set, of the first seed: polarity and attention scores of words over their frequency, and
    their mean attention weights."""
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
    paper="Sun and Lu, Understanding Attention for Text Classification, ACL 2020, doi:10.18653/v1/2020.acl-main.312",
    published=PUBLISHED,
    cell=Cell,
    keys=("accuracy", "scale", "labels", "words", "attention", "polarity", "median weight", "area", "points"),
    cells=every_set_and_seed,
    run=run,
    report=report,
    pictures=pictures,
)
