"""Are classifiers that were trained on mixtures, or by turns, explained more faithfully than plainly trained ones?

MiniLM is trained in six ways with the default recipe on 400 rows, with 100 others for validation. Each model judges
its own explanations of 200 test texts. A reported number is the excess over random scores of the same model, so that
a model that fails as soon as any words are removed does not count as better explained.

VAT changes the classifier as well as the training: attention over MiniLM's words and a perceptron. The same classifier
without turns, ATT, separates the two effects. No paper reports these numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from transformers import set_seed

from salience.comparison.statistics import difference, spread
from salience.data.task import Task
from salience.explainers import EXPLAINERS, IntegratedGradients
from salience.explainers.chance import random_words
from salience.explainers.corpus import explain_words
from salience.faithfulness.accuracy import accuracy_drop, mean_accuracy_drop, post_hoc_accuracy
from salience.faithfulness.erasure import Erasure
from salience.faithfulness.evaluation import DRAWS
from salience.faithfulness.leave_one_out import loo_tau
from salience.faithfulness.reading import Reading
from salience.faithfulness.results import mean_of
from salience.inference import TextClassifier
from salience.models.attention_models import PRESETS, build_attention_classifier
from salience.models.procedure import required_procedure
from salience.reproduce.datasets import load
from salience.reproduce.table import Row, Table
from salience.reproduce.training import drawn, train_classifier, train_minilm
from salience.training.recipe import Recipe
from salience.training.word_models import accuracy

PUBLISHED = {"sst2": None, "trec": None}
TRAININGS = ("plain", "ssmix", "attentionmix", "dropmix-g", "att", "vat")
CLASSIFIERS = {"att": "bert-att", "vat": "bert-vat"}  # the others train MiniLM's classifier
EXPLAINED: dict[str, Callable[..., Any]] = {name: EXPLAINERS[name] for name in ("gradient", "gradient-x-input")} | {
    "integrated-gradients": IntegratedGradients(8)
}
ROWS, HELD_OUT, JUDGED = 400, 100, 200  # for training, for validation, and of the test texts
LONGEST, MOST, AT, TAU_TEXTS = 128, 5, 5, 100
METRICS = (f"AOPC@{AT}", "AOPC over K", f"post-hoc@{AT}", "tau")


@dataclass(frozen=True)
class Cell:
    """One trained classifier."""

    set: str
    training: str  # of TRAININGS
    seed: int


def cells(sets: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
    """Every set and training, seed by seed."""
    return [Cell(name, training, seed) for seed in seeds for name in sets for training in TRAININGS]


def run(cell: Cell, data_dir: Path | None) -> Row:
    """Trains one classifier and measures its test accuracy and the faithfulness of each explainer and of chance."""
    started, data = time.time(), load(cell.set, data_dir, cell.seed)
    data = replace(
        data, training=drawn(data.training, ROWS, cell.seed), validation=drawn(data.validation, HELD_OUT, cell.seed)
    )
    classifier = train(cell, data)
    judged = classifier.encode(drawn(data.test, JUDGED, seed=0), words=True)
    reading = Reading(judged, classifier.probabilities, classifier.empty_token, range(TAU_TEXTS))
    generator = np.random.default_rng(cell.seed)
    chance = [measured(random_words(judged.words.counts, generator), reading) for _ in range(DRAWS)]
    return {
        "accuracy": accuracy(classifier.model, classifier.encode(data.test)), "rows": len(data.training),
        "judged": len(judged),
        "random": {name: float(np.mean([draw[name] for draw in chance])) for name in METRICS},
        "explainers": {
            name: measured(explain_words(classifier.model, judged, explainer), reading)
            for name, explainer in EXPLAINED.items()
        },
        "seconds": round(time.time() - started, 1),
    }  # fmt: skip


def train(cell: Cell, data: Task) -> TextClassifier:
    """The classifier of a cell, trained."""
    if cell.training not in CLASSIFIERS:
        return train_minilm(data, cell.set, cell.training, cell.seed, LONGEST)
    set_seed(cell.seed)
    model, tokenizer = build_attention_classifier(
        PRESETS[CLASSIFIERS[cell.training]], data.labels, data.training.texts, lambda line: None
    )
    turns = {"iterations": 1} if required_procedure(model) == "turns" else {}
    recipe = Recipe(data=cell.set, method="plain", procedure_options=turns, seed=cell.seed)
    return train_classifier(TextClassifier(model, tokenizer, LONGEST), data, recipe)[0]


def measured(scores: list[np.ndarray], reading: Reading) -> dict[str, float]:
    """The metrics by the names of `METRICS` here, means over texts; the classifier judges itself."""
    erasure = Erasure(reading, scores, most=MOST)
    over_k = mean_accuracy_drop(erasure)  # first: the others find their answers in its passes
    values = (accuracy_drop(erasure, AT), over_k, post_hoc_accuracy(erasure, AT), loo_tau(erasure))
    return {name: mean_of(of_texts) for name, of_texts in zip(METRICS, values, strict=True)}


def report(rows: list[Row]) -> str:
    """Accuracies and metrics with the seeds that all trainings have.

    The column of plain training is the mean excess over random scores (for accuracy, the mean). The others are
    differences to it, and the last one is VAT's difference to ATT. Differences are paired by seed.
    """
    columns = ("set", "explainer", "metric", "seeds", *TRAININGS, "vat - att")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name in PUBLISHED:
        runs = {(row["training"], row["seed"]): row for row in rows if row["set"] == name}
        seeds = sorted({seed for _, seed in runs if all((training, seed) in runs for training in TRAININGS)})
        if not seeds:
            continue
        accuracies = {training: [100 * runs[training, seed]["accuracy"] for seed in seeds] for training in TRAININGS}
        lines.append(f"| {name} | | accuracy | {len(seeds)} | {against_plain(accuracies)} |")
        for explainer in EXPLAINED:
            for metric in METRICS:
                excess = {
                    training: [
                        run["explainers"][explainer][metric] - run["random"][metric]
                        for run in (runs[training, seed] for seed in seeds)
                    ]
                    for training in TRAININGS
                }
                lines.append(f"| {name} | {explainer} | {metric} | {len(seeds)} | {against_plain(excess)} |")
    return "\n".join(lines)


def against_plain(values: dict[str, list[float]]) -> str:
    """The cells of a line of the report.

    Args:
        values: By training, a value for every seed.
    """
    arrays = {name: np.array(value) for name, value in values.items()}
    plain = arrays.pop("plain")
    vat_to_att = difference(arrays["vat"], arrays["att"])
    return " | ".join([spread(plain), *(str(difference(array, plain)) for array in arrays.values()), str(vat_to_att)])


TABLE = Table(
    name="faithful-training",
    paper="no paper; the trainings of SSMix, AttentionMix, DropMix and VAT compared",
    published=PUBLISHED,
    cell=Cell,
    keys=("accuracy", "random", "explainers"),
    cells=cells,
    run=run,
    report=report,
)
