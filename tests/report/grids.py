"""Grids of made-up runs, with the folders that a report reads."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from salience.comparison.comparison import Comparison, comparison_of
from salience.comparison.grid import Grid
from salience.comparison.heat_maps import HeatMaps
from salience.explainers.explanation import Explanation
from salience.runs.results import Run
from salience.scores.labels import ONE_LABEL
from salience.scores.predictions import Predictions
from salience.training.recipe import Recipe

SEEDS = (3, 4, 5)
TEXTS = [f"text number {number}" for number in range(40)]


def made_up(
    place: Path,
    methods=("plain", "ssmix", "tmix"),
    sets=("one",),
    sizes=(None,),
    labels=("bad", "good", "so-so"),
    texts=tuple(TEXTS),
    skill=None,
    more=lambda method, seed: {},
) -> Comparison:
    """The comparison of a grid whose predictions are random, and right more often by `skill` of a method.

    `more` gives further metrics of a run.

    Only the folders that a report may read are there: the first run of the baseline with each size.
    """
    random = np.random.default_rng(0)
    grid = Grid(
        {method: Recipe("a.csv", test="b.csv", steps=7) for method in methods}, SEEDS, sizes, (),
        {name: {"data": f"{name}.csv", "test": "b.csv"} for name in sets} if len(sets) > 1 else {},
    )  # fmt: skip
    gold = np.arange(len(texts)) % len(labels)
    runs = {}
    for number, condition in enumerate(grid.conditions()):
        for method in methods:
            for seed in SEEDS:
                logits = random.normal(size=(len(texts), len(labels)))
                logits[np.arange(len(texts)), gold] += 1 if skill is None else skill[method]
                probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
                metrics = {
                    "test": ONE_LABEL.detailed(probabilities, gold), "temperature_scaling": {},
                    "seconds": 10.0 + random.random(), "rows": {"training": 160, "validation": 40, "test": len(texts)},
                    "versions": {"salience": "1.2.3"}, "machine": {"device": "cpu"},
                } | more(method, seed)  # fmt: skip
                folder = place / str(number) / f"{method[:1]}-{seed}"
                predictions = Predictions(probabilities, gold)
                runs[condition, method, seed] = Run(folder, {}, metrics, list(labels), predictions, [], None)
        write_rows(runs[condition, methods[0], SEEDS[0]], texts)
    filled = {
        condition: Recipe(f"{condition.data}.csv", test="b.csv", steps=7, batch_size=16, learning_rate=0.001)
        for condition in grid.conditions()
    }
    return comparison_of(grid, runs, filled)


def with_heat_maps(comparison: Comparison, methods=("plain", "wrong"), missing=()) -> Comparison:
    """The comparison with explanations of all its texts, whose n-th of W words has the score n / W."""
    of_texts = {}
    for predictions in comparison.predictions:
        for text in predictions.texts:
            words = text.text.split(" ")
            scores = {"gradient": np.arange(1, len(words) + 1) / len(words)}
            chances = np.eye(len(predictions.labels))[0] * 0.5 + 0.5 / len(predictions.labels)
            explanation = Explanation(words, None, predictions.labels, chances, 0, None, scores, text.row)
            of_texts[predictions.results.condition, text.row] = dict.fromkeys(methods, explanation)
    return replace(comparison, heat_maps=HeatMaps(SEEDS[0], "gradient", of_texts, list(missing)))


def write_rows(run: Run, texts) -> None:
    run.folder.mkdir(parents=True)
    rows = (
        {"row": number + 2, "text": text, "label": run.labels[label], "predicted": run.labels[predicted]}
        for number, (text, label, predicted) in enumerate(
            zip(texts, run.predictions.labels, run.predictions.predicted, strict=True)
        )
    )
    content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (run.folder / "predictions.jsonl").write_text(content, encoding="utf-8")
