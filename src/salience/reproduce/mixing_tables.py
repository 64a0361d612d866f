"""Tables that compare mixing methods by accuracy, as all three mixing papers have them.

The papers fine-tune BERT-base on whole data sets. Here MiniLM, or another encoder that is named, is fine-tuned on a
part of each, so that a table fits a small machine. As in the papers, the head reads [CLS]. All trainings of a table
make equal passes of texts (a step that reads each text twice counts as two), keep the last checkpoint, and see the
same rows with the same seed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from transformers import set_seed

from salience.data.drawing import draw, drawn
from salience.data.task import Task
from salience.data.texts import Texts
from salience.inference import TextClassifier
from salience.models.loading import load_classifier, load_configuration
from salience.reproduce import mixing_report
from salience.reproduce.datasets import load
from salience.reproduce.mixing_report import Claim, Published
from salience.reproduce.table import Row, Table, sets_of
from salience.training.fitting import fit
from salience.training.passes import passes_per_step, text_passes
from salience.training.preparing import Prepared, prepare
from salience.training.recipe import Recipe
from salience.training.word_models import accuracy

LONGEST = 128  # tokens read of a text
TESTED = 1000  # largest number of test rows
FIRST = "first without mixing"  # as Yoon et al. (2021, SSMix, arXiv:2106.08062) train, section 3.4
RATE = 1e-5 / 5e-5  # learning rate of the second training there, relative to that of the first
MINILM = "minilm"  # the encoder, if no other is named
Settings = Mapping[str, Any]
Choice = Settings | Callable[[str, int], Settings]  # of a data set, and of the encoder's number of layers


@dataclass(frozen=True)
class Cell:
    """A training with one method."""

    set: str
    method: str  # as the table names it
    rows: int  # training rows; all, if the set has fewer
    seed: int
    model: str = MINILM  # the encoder, as `--model` names it


@dataclass(frozen=True)
class MixingTable:
    """A comparison of methods on several data sets.

    Args:
        methods: name in the table to the settings of its recipe, or to a function that gives them for a data set and
            a number of layers. The first is the baseline. `FIRST` among them is the part of the steps that train
            without mixing before; the method then goes on from the last weights, at `RATE` of the learning rate.
        published: data set to method to the accuracy in the paper, in percent; methods that the paper lacks are left
            out.
        claims: what the paper says of its methods.
        sizes: numbers of training rows.
        model: the encoder.
        of_encoders: by encoder, `published` of a paper that has several; other encoders take `published`.
    """

    methods: Mapping[str, Choice]
    published: Published
    claims: tuple[Claim, ...]
    sizes: tuple[int, ...] = (500,)
    model: str = MINILM
    of_encoders: Mapping[str, Published] = field(default_factory=dict)

    def cells(self, sets: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
        """Every method on every set, seed by seed, so that an interrupted table has compared all methods."""
        return [
            Cell(name, method, rows, seed, self.model)
            for seed in seeds for rows in self.sizes for name in sets for method in self.methods
        ]  # fmt: skip

    def settings(self, cell: Cell) -> Settings:
        """The settings of the cell's training."""
        chosen = self.methods[cell.method]
        return chosen(cell.set, load_configuration(cell.model).num_hidden_layers) if callable(chosen) else chosen

    def run(self, cell: Cell, data_dir: Path | None) -> Row:
        """Trains one model and measures its accuracy on test rows."""
        started = time.time()
        data = part_of(load(cell.set, data_dir, cell.seed), cell.rows, cell.seed)
        part = self.settings(cell).get(FIRST, 0.0)
        settings = {name: value for name, value in self.settings(cell).items() if name != FIRST}
        prepared = prepare_equal(data, cell.set, settings, cell.seed, cell.model, part)
        steps, made = 0, 0.0
        for training in in_turn(prepared, part) if part else [prepared]:
            with TemporaryDirectory() as folder:
                fitted = fit(training, Path(folder))
            steps, made = steps + fitted.steps, made + text_passes(training, fitted)
        classifier = prepared.classifier
        return {
            "accuracy": accuracy(classifier.model, classifier.encode(data.test)), "training_rows": len(data.training),
            "test_rows": len(data.test), "steps": steps, "text_passes": round(made, 3),
            "seconds": round(time.time() - started, 1),
        }  # fmt: skip

    def report(self, rows: list[Row]) -> str:
        """The table in words, and the passes of texts that its runs made, of one encoder after the other."""
        parts = []
        for model in dict.fromkeys(row["model"] for row in rows):
            own = [row for row in rows if row["model"] == model]
            published = self.of_encoders.get(model, self.published)
            parts += [f"Encoder: {model}"] * (model != MINILM) + [self.told(published, own), *passes(own)]
        return "\n\n".join(parts).strip()

    def told(self, published: Published, rows: list[Row]) -> str:
        """The claims, accuracies and differences of one encoder."""
        return mixing_report.report(list(self.methods), published, self.claims, rows)

    def table(self, name: str, paper: str) -> Table[Cell]:
        """The table as `salience reproduce` runs it."""
        return Table(
            name=name, paper=paper, published=self.published, cell=Cell, keys=("accuracy", "text_passes"),
            cells=self.cells, run=self.run, report=self.report, known={"set": self.published, "method": self.methods},
            resized=lambda sizes: replace(self, sizes=tuple(dict.fromkeys(sizes))).table(name, paper),
            of_model=lambda model: replace(self, model=model).table(name, paper),
        )  # fmt: skip


def part_of(data: Task, rows: int, seed: int) -> Task:
    """Training rows that the seed draws, at most so many, stratified and nested; test rows; no validation rows.

    Raises:
        InputError: there are more classes than rows.
    """
    training = data.training
    if rows < len(training):
        training = training.take(draw(training.known_labels.tolist(), rows, seed, option="--rows"))
    return replace(data, training=training, validation=Texts([]), test=drawn(data.test, TESTED, seed=0))


def passes(rows: Sequence[Row]) -> list[str]:
    """A line for each number of training rows: the passes of texts in a run, and by how much the methods differ."""
    lines = []
    for size in sorted({row["rows"] for row in rows}):
        of_size = [row for row in rows if row["rows"] == size]
        told = []
        for name in sets_of(of_size):
            found = [row["text_passes"] for row in of_size if row["set"] == name]
            told.append(f"{name} {fmean(found):,.0f} (± {50 * (max(found) - min(found)) / fmean(found):.1f} %)")
        lines.append(f"Passes of texts in a run, {size:,} training rows: {', '.join(told)}")
    return lines


def prepare_equal(
    data: Task, name: str, settings: Settings, seed: int, encoder: str = MINILM, part: float = 0.0
) -> Prepared:
    """An encoder, ready for a training with as many passes of texts as plain training has by default.

    Args:
        data: the rows.
        name: of the data set.
        settings: of the recipe.
        seed: of the training.
        encoder: its name, as of `--model`.
        part: of the steps that train without mixing first, at one pass each.
    """
    set_seed(seed)
    recipe = Recipe(data=name, seed=seed, validation_share=0.0, estimate="none", **settings)
    model, tokenizer = load_classifier(encoder, data.labels, recipe.dropout)
    classifier = TextClassifier(model, tokenizer, LONGEST)
    prepared = prepare(recipe, replace(data, test=Texts([])), classifier=classifier)
    recipe = prepared.recipe
    assert recipe.steps is not None  # a prepared recipe has nothing left open
    cost = passes_per_step(prepared.method, recipe.clean, prepared.model)
    return replace(prepared, recipe=replace(recipe, steps=max(1, round(recipe.steps / (part + (1 - part) * cost)))))


def in_turn(prepared: Prepared, part: float) -> list[Prepared]:
    """A training of the model without mixing, for a part of the steps, and one with the method, by the next seed."""
    recipe = prepared.recipe
    assert recipe.steps is not None and recipe.learning_rate is not None  # nothing is left open
    first = min(max(1, round(recipe.steps * part)), recipe.steps - 1)
    plain = replace(recipe, method="plain", method_options={}, steps=first)
    mixed = replace(
        recipe, steps=recipe.steps - first, learning_rate=recipe.learning_rate * RATE, seed=(recipe.seed + 1) % 2**32
    )
    return [replace(prepared, recipe=plain, method=None), replace(prepared, recipe=mixed)]


def mixing_alone(method: str, **options: Any) -> dict[str, Any]:
    """The settings of a training on mixtures only, as AttentionMix and DropMix train."""
    return {"method": method, "method_options": options, "clean": 0.0}
