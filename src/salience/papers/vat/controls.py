"""What the turns of VAT gain, and what of it is due to the compressor: Table 2 of Zhou et al. (2021), with controls.

"Attending via both Fine-tuning and Compressing", Findings of ACL-IJCNLP 2021. VAT trains longer than base and ATT:
after its iteration 0, encoder and head are trained further in every turn, with the attention that the compressor has
changed. ATT is this iteration 0, and has no training of its own. The control makes the same turns without the
compressor, so that the attention stays as ATT left it. Only what VAT gains over this control is due to compression.

The validation rows choose among the turns of all betas of VAT. The control has as many turns, in one training, so that
neither is preferred by the number of choices.

Models read GloVe's vectors of 50 dimensions, or the word rows of MiniLM, with a bidirectional LSTM. Unlike in
`salience.papers.vat.tables`, dropout and length of the training are chosen so that the LSTM is at its best on the
validation rows, and the validation accuracy alone selects checkpoints.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from salience.classify import TextClassifier
from salience.data.splitting import drawn
from salience.data.task import Task
from salience.papers.attention_classifiers.options import PRESETS
from salience.papers.datasets import accuracy, load
from salience.papers.mixing_tables import Claim
from salience.papers.mixing_tables import report as compared
from salience.papers.table import Row, Table, markdown
from salience.papers.vat.tables import PUBLISHED, trained
from salience.training.recipe import Recipe

ROWS = 10_000  # training rows at most; only AG News has more
EPOCHS, BATCH, RATE, DROPOUT, ITERATIONS = 15, 32, 1e-3, 0.2, 3
BETAS = (0.001, 0.01, 0.1)  # as a mean over the 100 dimensions of z, these are 0.1, 1 and 10
# The word vectors and their factor: by 8, those of MiniLM have about the standard deviation of GloVe's.
VECTORS = {"glove": ("glove", 1.0), "minilm x 8": ("minilm", 8.0), "minilm": ("minilm", 1.0)}


@dataclass(frozen=True)
class Training:
    """How a method trains.

    Attributes:
        preset: the model.
        turns: settings of a training by turns, each in its own training; the validation rows choose between them.
        selection: the rule that selects checkpoints.
    """

    preset: str
    turns: tuple[Mapping[str, Any], ...] = ({},)
    selection: str = "accuracy"


TRAININGS = {
    "base": Training("lstm-base"),
    "ATT, later checkpoints": Training("lstm-vat", ({"iterations": 0},), selection="later"),
    "turns without compressor": Training("lstm-vat", ({"iterations": ITERATIONS * len(BETAS), "compressor": "none"},)),
    "VAT": Training("lstm-vat", tuple({"iterations": ITERATIONS, "beta": beta} for beta in BETAS)),
}
WITHOUT_0 = ", iteration 0 left out"
METHODS = (
    "base", "ATT", "ATT, later checkpoints", "turns without compressor", "turns without compressor" + WITHOUT_0,
    "VAT", "VAT" + WITHOUT_0,
)  # fmt: skip
CLAIMS = (
    Claim("ATT is better than base", "ATT", "base"),
    Claim("VAT is better than ATT", "VAT", "ATT"),
    Claim("VAT is better than base", "VAT", "base"),
    Claim("control: turns without a compressor are better than ATT", "turns without compressor", "ATT"),
    Claim("control: VAT is better than turns without a compressor", "VAT", "turns without compressor"),
    Claim("VAT is better if iteration 0 is left out", "VAT" + WITHOUT_0, "VAT"),
    Claim("later checkpoints should be preferred", "ATT, later checkpoints", "ATT"),
)


@dataclass
class Iterations:
    """Accuracies of one training after each iteration; a training without turns has one.

    Attributes:
        beta: of the training, None without a compressor.
        validation, test: on these rows, from 0 to 1.
    """

    beta: float | None
    validation: list[float | None] = field(default_factory=list)
    test: list[float] = field(default_factory=list)


def chosen(trainings: Sequence[Iterations], earliest: int = 0) -> float:
    """The test accuracy of the training and iteration that the validation rows choose; of equals, the first."""
    places = [(each, number) for each in trainings for number in range(earliest, len(each.test))]
    best, number = places[int(np.argmax([each.validation[number] or 0.0 for each, number in places]))]
    return best.test[number]


@dataclass(frozen=True)
class Cell:
    """The trainings of one method."""

    set: str
    method: str  # of TRAININGS
    vectors: str  # of VECTORS
    seed: int


def cells(sets: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
    """Every set and method, seed by seed; with vectors of MiniLM as they are base alone, for the factor's effect."""
    return [
        Cell(name, method, vectors, seed)
        for vectors in VECTORS for seed in seeds for name in sets for method in TRAININGS
        if vectors != "minilm" or method == "base"
    ]  # fmt: skip


def run(cell: Cell, data_dir: Path | None) -> Row:
    """Trains a model with each setting of the method, and measures its accuracy after each iteration."""
    started, data = time.time(), load(cell.set, data_dir, cell.seed)
    data = replace(data, training=drawn(data.training, ROWS, cell.seed))
    trainings = [train(cell, data, turns) for turns in TRAININGS[cell.method].turns]
    return {
        "accuracy": chosen(trainings), "trainings": [vars(each) for each in trainings],
        "training_rows": len(data.training), "seconds": round(time.time() - started, 1),
    }  # fmt: skip


def train(cell: Cell, data: Task, turns: Mapping[str, Any]) -> Iterations:
    """One training of a cell."""
    training, found = TRAININGS[cell.method], Iterations(turns.get("beta"))
    embeddings, factor = VECTORS[cell.vectors]
    options = replace(
        PRESETS[training.preset], bidirectional=True, width=50, embeddings=embeddings, embedding_scale=factor,
        dropout=DROPOUT, embedding_dropout=DROPOUT,
    )  # fmt: skip
    recipe = Recipe(
        data=cell.set, method="plain", procedure_options=dict(turns), seed=cell.seed, learning_rate=RATE,
        batch_size=BATCH, steps=EPOCHS * len(data.training) // BATCH, selection=training.selection,
    )  # fmt: skip

    def watch(classifier: TextClassifier) -> None:
        found.test.append(accuracy(classifier.model, classifier.encode(data.test)))

    classifier, iterations = trained(options, data, recipe, watch)
    if iterations:
        found.validation = [iteration["validation_accuracy"] for iteration in iterations]
    else:
        watch(classifier)
        found.validation = [None]
    return found


def report(rows: list[Row]) -> str:
    """Claims, accuracies and differences, for each kind of word vectors; then the accuracy by iteration."""
    parts = []
    for vectors in VECTORS:
        own = [each for row in rows if row["vectors"] == vectors for each in judged(row)]
        if own:
            found = compared(METHODS, ACCURACIES, CLAIMS, own, "at most {:,} training rows".format)
            parts += [f"Word vectors: {vectors}", "", found, ""]
    return "\n".join([*parts, by_iteration(rows)])


def judged(row: Row) -> list[Row]:
    """The accuracies of a cell as the report reads them: all iterations can be kept, or all but iteration 0.

    Iteration 0 of VAT, the same for every beta, is ATT.
    """
    trainings = [Iterations(**each) for each in row["trainings"]]
    found = [row | {"rows": ROWS}]
    if len(trainings[0].test) > 1:
        found.append(found[0] | {"method": row["method"] + WITHOUT_0, "accuracy": chosen(trainings, earliest=1)})
    if row["method"] == "VAT":
        found.append(found[0] | {"method": "ATT", "accuracy": trainings[0].test[0]})
    return found


def by_iteration(rows: list[Row]) -> str:
    """Mean accuracy of each training after each iteration on the test rows and, in brackets, the validation rows."""
    found: dict[tuple[str, ...], list[tuple[list[float], list[float]]]] = {}
    for row in rows:
        for each in row["trainings"]:
            if len(each["test"]) > 1:
                beta = "" if each["beta"] is None else f"{each['beta']:g}"
                key = (row["set"], row["vectors"], row["method"], beta)
                found.setdefault(key, []).append((each["test"], each["validation"]))
    means = {key: zip(*(100 * np.mean(runs, axis=0)), strict=True) for key, runs in found.items()}
    cells = {key: [f"{one:.2f} ({held:.2f})" for one, held in of_key] for key, of_key in means.items()}
    most = max(map(len, cells.values()), default=0)  # trainings can have fewer iterations
    lines = [[*key, *own, *[""] * (most - len(own))] for key, own in cells.items()]
    table = markdown(["set", "word vectors", "training", "beta", *map(str, range(most))], lines) if lines else ""
    return f"Accuracy by iteration, in brackets on the validation rows\n\n{table}"


ACCURACIES: dict[str, dict[str, float]] = {
    name: {} if values is None else dict(zip(("base", "ATT", "VAT"), values, strict=False))
    for name, values in PUBLISHED.items()
}
TABLE = Table(
    name="vat-controls",
    paper="Zhou et al., Attending via both Fine-tuning and Compressing, Findings of ACL 2021",
    published=ACCURACIES,
    cell=Cell,
    keys=("accuracy", "trainings"),
    cells=cells,
    run=run,
    report=report,
)
