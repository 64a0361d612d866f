"""Do classifiers that were trained on mixtures, or by turns, explain themselves more faithfully than plain ones?

MiniLM on 400 rows and chosen by 100 others, with the default recipe, in six ways; each model's explanations of
200 test texts are judged by the model itself. A number is the excess over random scores of the same model: a model
that breaks down as soon as any words go is not explained better for it.

VAT is another classifier too, not only another training: attention over MiniLM's words and a perceptron. The same
classifier without turns, ATT, parts the one from the other.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from transformers import set_seed

from salience.comparison.statistics import difference, spread
from salience.data.datasets import DataSet
from salience.explainers import EXPLAINERS, IntegratedGradients
from salience.explainers.chance import random_words
from salience.explainers.corpus import explain_words
from salience.explainers.explanations import words_of
from salience.faithfulness.accuracy import accuracy_drop, mean_accuracy_drop, post_hoc_accuracy
from salience.faithfulness.erasure import Erasure, Reading
from salience.faithfulness.evaluation import DRAWS
from salience.faithfulness.leave_one_out import loo_tau
from salience.faithfulness.results import mean_of
from salience.inference import TextClassifier
from salience.models.attention_models import PRESETS, build_attention_classifier
from salience.reproduce.datasets import load
from salience.reproduce.training import as_texts, drawn, encode, train_classifier, train_minilm
from salience.training.recipe import Recipe
from salience.training.word_models import accuracy

PUBLISHED = {"sst2": None, "trec": None}  # no paper asks
TRAININGS = ("plain", "ssmix", "attentionmix", "dropmix-g", "att", "vat")
CLASSIFIERS = {"att": "bert-att", "vat": "bert-vat"}  # the others have the stock one
EXPLAINED = {name: EXPLAINERS[name] for name in ("gradient", "gradient-x-input")} | {
    "integrated-gradients": IntegratedGradients(8)
}
ROWS, HELD_OUT, JUDGED = 400, 100, 200  # for training, for validation, and of the test texts
LONGEST, MOST, AT, TAU_TEXTS = 128, 5, 5, 100
METRICS = (f"AOPC@{AT}", "AOPC over K", f"post-hoc@{AT}", "tau")


@dataclass(frozen=True)
class Cell:
    set: str
    training: str
    seed: int


def cells(sets: list[str], seeds: list[int]) -> list[Cell]:
    return [Cell(name, training, seed) for seed in seeds for name in sets for training in TRAININGS]


def run(cell: Cell, data_dir: Path | None) -> dict:
    """One training, its test accuracy, and every explainer's metrics with those of random scores beside them."""
    started, data = time.time(), load(cell.set, data_dir, cell.seed)
    data = replace(
        data, training=drawn(data.training, ROWS, cell.seed), validation=drawn(data.validation, HELD_OUT, cell.seed)
    )
    classifier = train(cell, data)
    texts = as_texts(drawn(data.test, JUDGED, seed=0))
    words = words_of(classifier, texts)
    reading = Reading(words, classifier.probabilities, classifier.empty_token, range(TAU_TEXTS))
    generator = np.random.default_rng(cell.seed)
    chance = [measured(random_words(words.counts, generator), reading) for _ in range(DRAWS)]
    return {
        "accuracy": accuracy(classifier.model, encode(classifier, data.test)), "rows": len(data.training.labels),
        "judged": len(texts),
        "random": {name: float(np.mean([draw[name] for draw in chance])) for name in METRICS},
        "explainers": {
            name: measured(explain_words(classifier.model, words, explainer), reading)
            for name, explainer in EXPLAINED.items()
        },
        "seconds": round(time.time() - started, 1),
    }  # fmt: skip


def train(cell: Cell, data: DataSet) -> TextClassifier:
    if cell.training not in CLASSIFIERS:
        return train_minilm(data, cell.training, cell.seed, LONGEST)
    set_seed(cell.seed)
    model, tokenizer = build_attention_classifier(
        PRESETS[CLASSIFIERS[cell.training]], data.labels, data.training.texts, lambda line: None
    )
    recipe = Recipe(data=cell.set, method="plain", iterations=1, seed=cell.seed)
    return train_classifier(TextClassifier(model, tokenizer, LONGEST), data, recipe)[0]


def measured(scores: list[np.ndarray], reading: Reading) -> dict[str, float]:
    """The metrics by the names of `METRICS` here, means over texts; the classifier judges itself."""
    erasure = Erasure(reading, scores, most=MOST)
    over_k = mean_accuracy_drop(erasure)  # first: the others find their answers in its passes
    values = (accuracy_drop(erasure, AT), over_k, post_hoc_accuracy(erasure, AT), loo_tau(erasure))
    return {name: mean_of(of_texts) for name, of_texts in zip(METRICS, values, strict=True)}


def report(rows: list[dict]) -> str:
    """Of plain training the excess over random scores; of the others the difference to it, and VAT's to ATT.

    Differences are paired by seed.
    """
    columns = ("set", "explainer", "metric", "seeds", *TRAININGS, "vat - att")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name in PUBLISHED:
        own = {(row["training"], row["seed"]): row for row in rows if row["set"] == name}
        seeds = sorted({seed for _, seed in own if all((training, seed) in own for training in TRAININGS)})
        if not seeds:
            continue
        right = {training: [100 * own[training, seed]["accuracy"] for seed in seeds] for training in TRAININGS}
        lines.append(f"| {name} | | accuracy | {len(seeds)} | {against_plain(right)} |")
        for explainer in EXPLAINED:
            for metric in METRICS:
                found = {
                    training: [
                        own[training, seed]["explainers"][explainer][metric] - own[training, seed]["random"][metric]
                        for seed in seeds
                    ]
                    for training in TRAININGS
                }
                lines.append(f"| {name} | {explainer} | {metric} | {len(seeds)} | {against_plain(found)} |")
    return "\n".join(lines)


def against_plain(found: dict[str, list[float]]) -> str:
    values = {name: np.array(own) for name, own in found.items()}
    plain = values.pop("plain")
    turns = difference(values["vat"], values["att"])
    return " | ".join([spread(plain), *(str(difference(own, plain)) for own in values.values()), str(turns)])
