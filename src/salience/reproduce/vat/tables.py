"""Zhou et al. (Findings of ACL-IJCNLP 2021), Tables 2 to 6: base, ATT and VAT over an LSTM and a transformer.

"Attending via both Fine-tuning and Compressing". A cell trains two models: base, and VAT, whose iteration 0 is ATT.
Base also judges the explanations of ATT and VAT, as in the paper. What the paper leaves open (batches, epochs,
dropout) follows the default recipe of salience, with the learning rate that the paper gives for its LSTM. The 100
dimensions of that LSTM are read as 50 for each direction: with one direction, the last states depend on the whole
text, and attention concentrates on them instead of on words.

GloVe is replaced by random word vectors or those of MiniLM, and BERT-base by MiniLM. To fit a small machine, MiniLM is
trained on at most 1,000 rows and the LSTM on at most 10,000 (only AG News has more), and the explanations of at most
200 and 500 texts are judged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from transformers import set_seed

from salience.data.drawing import drawn
from salience.data.task import Task
from salience.explainers.corpus import explain_words
from salience.explainers.pooling import pooling_attention
from salience.faithfulness.erasure import as_judged
from salience.inference import TextClassifier
from salience.models.attention_models import PRESETS, build_attention_classifier
from salience.models.procedure import required_procedure
from salience.reproduce.datasets import load
from salience.reproduce.table import Row, Table
from salience.reproduce.training import train_classifier
from salience.reproduce.vat.judging import judge, judge_chance
from salience.reproduce.vat.published import PUBLISHED
from salience.reproduce.vat.report import family, pictures, report
from salience.training.recipe import Recipe
from salience.training.word_models import accuracy

LONGEST = 256  # number of words or word pieces that are read of a text


@dataclass(frozen=True)
class Plan:
    """How models with one kind of encoder are trained and judged."""

    epochs: int
    learning_rate: float | None  # None: the default, which depends on the model's width
    iterations: int
    rows: int  # largest number of training rows
    judged: int  # largest number of test texts whose explanations are judged
    most: int  # largest number of deleted words


PLANS = {
    "lstm": Plan(epochs=6, learning_rate=1e-3, iterations=3, rows=10_000, judged=500, most=20),
    "bert": Plan(epochs=4, learning_rate=None, iterations=2, rows=1000, judged=200, most=5),
}
ENCODERS = ("bilstm-random", "bilstm-minilm", "bert-minilm")
OF_ONE_DIRECTION = ("lstm-random", "lstm-minilm")  # with the first seed only, to show the effect of one direction


@dataclass(frozen=True)
class Cell:
    """A trained base and a trained VAT."""

    set: str
    encoder: str  # of ENCODERS or OF_ONE_DIRECTION
    seed: int


def cells(sets: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
    """Every set and encoder, seed by seed; encoders of one direction with the first seed only."""
    both = [Cell(name, encoder, seed) for seed in seeds for name in sets for encoder in ENCODERS]
    return both + [Cell(name, encoder, seeds[0]) for name in sets for encoder in OF_ONE_DIRECTION]


def run(cell: Cell, data_dir: Path | None) -> Row:
    """Trains base, ATT and VAT on one set with one seed, and judges their attention as explanations."""
    started, data = time.time(), load(cell.set, data_dir, cell.seed)
    plan = PLANS[family(cell.encoder)]
    data = replace(data, training=drawn(data.training, plan.rows, cell.seed))
    base, _ = train(cell, data, plan, "base")
    seconds_of_base = time.time() - started
    judged = drawn(data.test, plan.judged, seed=0)
    seen = base.encode(judged, words=True)
    base_accuracy = accuracy(base.model, base.encode(data.test))
    test_accuracies: list[float] = []
    explanations: dict[str, dict] = {}

    def explain(classifier: TextClassifier, name: str) -> None:
        encoded = classifier.encode(judged, words=True)
        scores = explain_words(classifier.model, encoded, pooling_attention)
        explanations[name] = judge(as_judged(scores, encoded.words, seen.words), base, seen, judged, plan.most)

    def watch(classifier: TextClassifier) -> None:
        test_accuracies.append(accuracy(classifier.model, classifier.encode(data.test)))
        if len(test_accuracies) == 1:
            explain(classifier, "ATT")

    classifier, iterations = train(cell, data, plan, "vat", watch)
    explain(classifier, "VAT")
    explanations["random"] = judge_chance(base, seen, judged, plan.most, cell.seed)
    validation_accuracies = [iteration["validation_accuracy"] for iteration in iterations]
    chosen = int(np.argmax(validation_accuracies))
    return {
        "base": base_accuracy, "test": test_accuracies, "explanations": explanations,
        "validation": validation_accuracies, "chosen": chosen, "accuracy": test_accuracies[chosen],
        "rows": len(data.training), "judged": len(judged),
        "seconds_of_base": round(seconds_of_base, 1), "seconds": round(time.time() - started, 1),
    }  # fmt: skip


def train(
    cell: Cell, data: Task, plan: Plan, name: str, watch: Callable[[TextClassifier], None] = lambda classifier: None
) -> tuple[TextClassifier, list[dict]]:
    """Trains the cell's "base" or "vat".

    Args:
        watch: Called with the model after every iteration of VAT.

    Returns:
        The classifier, and for VAT a dictionary for every iteration with its "validation_accuracy".
    """
    kind, vectors = cell.encoder.split("-")
    options = PRESETS[f"{family(kind)}-{name}"]
    if family(kind) == "lstm":
        options = replace(options, bidirectional=kind == "bilstm", embeddings=None if vectors == "random" else vectors)
    set_seed(cell.seed)
    model, tokenizer = build_attention_classifier(
        options, data.labels, data.training.texts, lambda line: None, split=not data.tokenised
    )
    turns = {"iterations": plan.iterations} if required_procedure(model) == "turns" else {}
    recipe = Recipe(
        data=cell.set, method="plain", procedure_options=turns, seed=cell.seed, learning_rate=plan.learning_rate,
        steps=plan.epochs * len(data.training) // 32, batch_size=32,
    )  # fmt: skip
    return train_classifier(TextClassifier(model, tokenizer, LONGEST), data, recipe, watch=watch)


TABLE = Table(
    name="vat",
    paper="Zhou et al., Attending via both Fine-tuning and Compressing, Findings of ACL 2021",
    published=PUBLISHED,
    cell=Cell,
    keys=("base", "test", "validation", "chosen", "accuracy", "explanations"),
    cells=cells,
    run=run,
    report=report,
    pictures=pictures,
)
