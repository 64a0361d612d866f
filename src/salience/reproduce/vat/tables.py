"""Zhou et al. (Findings of ACL 2021), Tables 2 to 6: base, ATT and VAT over an LSTM and a transformer.

A cell trains two models: base, and VAT, whose iteration 0 is ATT. Base also judges the explanations of the others, as
in the paper. What the paper leaves open (batches, epochs, dropout) is the default recipe of salience, with the
learning rate that the paper gives for its LSTM. Its 100 dimensions are taken to be 50 of each direction: the last
states of one direction know the whole text, so that attention goes to them and finds no words.

GloVe is replaced by random word vectors or MiniLM's, BERT-base by MiniLM. So that the table fits a small machine,
MiniLM is trained on 1,000 rows at most and the LSTM on 10,000 (only AG News has more), and the explanations of at most
200 and 500 texts are judged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from transformers import set_seed

from salience.data.datasets import DataSet, Split
from salience.explainers.chance import random_words
from salience.explainers.corpus import explain_words
from salience.explainers.explanations import words_of
from salience.explainers.pooling import pooling_attention
from salience.explainers.word_tokens import WordTokens
from salience.faithfulness.accuracy import (
    accuracy_alone,
    accuracy_drop,
    accuracy_without,
    mean_accuracy_drop,
    post_hoc_accuracy,
)
from salience.faithfulness.detection import detection_by_class
from salience.faithfulness.erasure import Erasure, Reading, as_judged
from salience.faithfulness.evaluation import DRAWS
from salience.inference import TextClassifier
from salience.models.attention_models import PRESETS, build_attention_classifier
from salience.reproduce.datasets import load
from salience.reproduce.training import as_texts, drawn, encode, train_classifier
from salience.reproduce.vat.report import PUBLISHED, family, report
from salience.training.recipe import Recipe
from salience.training.word_models import accuracy

__all__ = ["PUBLISHED", "Cell", "cells", "report", "run"]  # a table of `salience reproduce`

LONGEST = 256  # words or word pieces read of a text
AT = 5  # words deleted, or left alone, in Tables 3 and 4


@dataclass(frozen=True)
class Plan:
    """How much is trained and judged over one kind of encoder."""

    epochs: int
    learning_rate: float | None  # None: the default, which follows the width
    iterations: int
    rows: int  # of training, at most
    judged: int  # test texts whose explanations are judged, at most
    most: int  # words deleted one by one


PLANS = {
    "lstm": Plan(epochs=6, learning_rate=1e-3, iterations=3, rows=10_000, judged=500, most=20),
    "bert": Plan(epochs=4, learning_rate=None, iterations=2, rows=1000, judged=200, most=5),
}
ENCODERS = ("bilstm-random", "bilstm-minilm", "bert-minilm")
OF_ONE_DIRECTION = ("lstm-random", "lstm-minilm")  # with the first seed alone, to show what it does


@dataclass(frozen=True)
class Cell:
    set: str
    encoder: str
    seed: int


def cells(sets: list[str], seeds: list[int]) -> list[Cell]:
    both = [Cell(name, encoder, seed) for seed in seeds for name in sets for encoder in ENCODERS]
    return both + [Cell(name, encoder, seeds[0]) for name in sets for encoder in OF_ONE_DIRECTION]


def run(cell: Cell, data_dir: Path | None) -> dict:
    """Base, ATT and VAT on one set with one seed, and what their attention is worth as an explanation."""
    started, data = time.time(), load(cell.set, data_dir, cell.seed)
    plan = PLANS[family(cell.encoder)]
    data = replace(data, training=drawn(data.training, plan.rows, cell.seed))
    base, _ = train(cell, data, plan, "base")
    seconds_of_base = time.time() - started
    judged = drawn(data.test, plan.judged, seed=0)
    texts = as_texts(judged)
    seen = words_of(base, texts)
    found = {"base": accuracy(base.model, encode(base, data.test)), "test": [], "explanations": {}}

    def explain(classifier: TextClassifier, name: str) -> None:
        own = words_of(classifier, texts)
        scores = explain_words(classifier.model, own, pooling_attention)
        found["explanations"][name] = judge(as_judged(scores, own, seen), base, seen, judged, plan.most)

    def watch(classifier: TextClassifier) -> None:
        found["test"].append(accuracy(classifier.model, encode(classifier, data.test)))
        if len(found["test"]) == 1:
            explain(classifier, "ATT")

    classifier, iterations = train(cell, data, plan, "vat", watch)
    explain(classifier, "VAT")
    found["explanations"]["random"] = judge_chance(base, seen, judged, plan.most, cell.seed)
    found["validation"] = [row["validation_accuracy"] for row in iterations]
    chosen = int(np.argmax(found["validation"]))
    return found | {
        "chosen": chosen, "accuracy": found["test"][chosen], "rows": len(data.training.labels),
        "judged": len(judged.labels), "seconds_of_base": round(seconds_of_base, 1),
        "seconds": round(time.time() - started, 1),
    }  # fmt: skip


def train(
    cell: Cell, data: DataSet, plan: Plan, name: str, watch: Callable[[TextClassifier], None] = lambda classifier: None
) -> tuple[TextClassifier, list[dict]]:
    """Trains "base" or "vat"; gives the model, and of the latter what every iteration came to on validation."""
    kind, vectors = cell.encoder.split("-")
    options = PRESETS[f"{family(kind)}-{name}"]
    if family(kind) == "lstm":
        options = replace(options, bidirectional=kind == "bilstm", embeddings=None if vectors == "random" else vectors)
    set_seed(cell.seed)
    model, tokenizer = build_attention_classifier(
        options, data.labels, data.training.texts, lambda line: None, split=not data.tokenised
    )
    recipe = Recipe(
        data=cell.set, method="plain", iterations=plan.iterations, seed=cell.seed, learning_rate=plan.learning_rate,
        steps=plan.epochs * len(data.training.labels) // 32, batch_size=32,
    )  # fmt: skip
    return train_classifier(TextClassifier(model, tokenizer, LONGEST), data, recipe, watch=watch)


def judge(scores: list[np.ndarray], base: TextClassifier, texts: WordTokens, part: Split, most: int) -> dict:
    """What base makes of texts without the words of the highest scores, or with these alone (Tables 3 and 4), and
    whether they are words that people have marked (Table 5)."""
    erasure = Erasure(Reading(texts, base.probabilities, base.empty_token), scores, most=most)
    curves = {"without": accuracy_without(erasure).tolist(), "alone": accuracy_alone(erasure).tolist()}
    metrics = {
        f"AOPC@{AT}": float(accuracy_drop(erasure, AT).mean()),
        "AOPC over K": float(mean_accuracy_drop(erasure).mean()),
        f"post-hoc@{AT}": float(post_hoc_accuracy(erasure, AT).mean()),
    }
    return metrics | curves | found_marked(scores, part, base.labels)


def judge_chance(base: TextClassifier, texts: WordTokens, part: Split, most: int, seed: int) -> dict:
    """The same for random scores, the mean over draws."""
    generator = np.random.default_rng(seed)
    draws = [judge(random_words(texts.counts, generator), base, texts, part, most) for _ in range(DRAWS)]
    return {name: np.mean([draw[name] for draw in draws], axis=0).tolist() for name in draws[0]}


def found_marked(scores: list[np.ndarray], part: Split, labels: Sequence[str]) -> dict[str, list[float]]:
    """Table 5: P, R, F1 @1 and @5 in percent, of positive words in positive texts, and of negative ones in negative.

    Very positive ones are positive. A text is left out whose marked words are not parted by spaces as its words are.
    """
    if part.word_labels is None:
        return {}
    rows = [row for row, text in enumerate(part.texts) if len(part.word_labels[row]) == len(text.split())]
    marks = [[label.removeprefix("very ") for label in part.word_labels[row]] for row in rows]
    gold = [labels[part.labels[row]].removeprefix("very ") for row in rows]
    table = detection_by_class([scores[row] for row in rows], marks, gold, ("positive", "negative"), AT)
    return {name: list(values.values()) for name, values in table.items()}
