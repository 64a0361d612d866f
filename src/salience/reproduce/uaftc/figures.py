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
from transformers import set_seed

from salience.comparison.attention import Analysis, analyse
from salience.comparison.attention_sweep import sweep
from salience.data.drawing import drawn
from salience.data.task import Task
from salience.inference import TextClassifier
from salience.models.attention_models import AttentionOptions, build_attention_classifier
from salience.report.attention_pictures import by_frequency, weight_boxes
from salience.report.pictures import COLOURS, GREY, save
from salience.reproduce.datasets import load
from salience.reproduce.table import Cell, Row, Table, every_set_and_seed, first_seed_rows
from salience.reproduce.training import train_classifier
from salience.reproduce.uaftc.table2 import L2, LONGEST, RECIPES
from salience.reproduce.uaftc.word_categories import points, separation
from salience.training.recipe import Recipe
from salience.training.word_recipe import WordRecipe

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
