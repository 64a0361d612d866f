"""Tables that compare mixing methods by accuracy, as all three mixing papers have them.

The papers fine-tune BERT-base on whole data sets. Here MiniLM, or another encoder that is named, is fine-tuned on a
part of each, so that a table fits a small machine. As in the papers, the head reads [CLS]. All trainings of a table
make equal passes of texts (a step that reads each text twice counts as two), keep the last checkpoint, and see the
same rows with the same seed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from transformers import set_seed

from salience.classify import TextClassifier
from salience.comparison.comparison import LearningCurves
from salience.comparison.variation import spread
from salience.comparison.verdict import Judged, judged
from salience.data.splitting import draw, drawn
from salience.data.task import Task
from salience.data.texts import Texts
from salience.models.loading import load_classifier, load_configuration
from salience.papers.datasets import accuracy, load
from salience.papers.table import Row, Table, markdown, sets_of
from salience.report.comparison_pictures import learning_curves
from salience.report.pictures import save
from salience.training.fit import fit
from salience.training.passes import passes_per_step, text_passes
from salience.training.prepare import Prepared, prepare
from salience.training.recipe import Recipe

LONGEST = 128  # tokens read of a text
TESTED = 1000  # largest number of test rows
FIRST = "first without mixing"  # as Yoon et al. (2021, SSMix, arXiv:2106.08062) train, section 3.4
RATE = 1e-5 / 5e-5  # learning rate of the second training there, relative to that of the first
MINILM = "minilm"  # the encoder, if no other is named

Settings = Mapping[str, Any]
Choice = Settings | Callable[[str, int], Settings]  # of a data set, and of the encoder's number of layers
Published = Mapping[str, Mapping[str, float]]  # data set to method to accuracy in percent


@dataclass(frozen=True)
class Claim:
    """What a paper says, or a control asks: one method is better than another.

    Attributes:
        text: the claim in words.
        better, worse: methods as the table names them.
        place: where the claim stands in the paper.
    """

    text: str
    better: str
    worse: str
    place: str = ""


def report(
    methods: Sequence[str], published: Published, claims: Sequence[Claim], rows: list[Row],
    told: Callable[[int], str] = "{:,} training rows".format,
) -> str:  # fmt: skip
    """For each number of training rows the claims, the accuracies and the differences from the baseline.

    The first method is the baseline. Methods without a run are left out, and tables without a line; `told` gives a
    number of training rows in words.
    """
    parts = []
    for size, own in by_size(rows).items():
        names = [name for name in published if name in sets_of(own)]
        measured = measured_of(methods, own)
        tables = {
            f"Claims, {told(size)}": claimed(claims, names, published, own),
            f"Accuracy in percent, {told(size)}; in brackets the paper's": accuracies(measured, names, published, own),
            f"Difference from {methods[0]} in points, {told(size)}":
                differences(methods[0], measured, names, published, own),
        }  # fmt: skip
        parts += [part for heading, found in tables.items() if found for part in (heading, "", found, "")]
    return "\n".join(parts).strip()


def claimed(claims: Sequence[Claim], names: Sequence[str], published: Published, rows: list[Row]) -> str:
    """A line for each claim: the paper's mean difference and ours, over the data sets for which both are known.

    If there are none, ours is over all data sets that have both methods, and the paper's is left out.
    """
    lines, family = [], []
    for claim in claims:
        told = [name for name in names if {claim.better, claim.worse} <= {*published[name]}]
        found = paired_by_set(claim.better, claim.worse, told, rows)
        found = found or paired_by_set(claim.better, claim.worse, names, rows)
        if found:
            gains = [published[name][claim.better] - published[name][claim.worse] for name in found if name in told]
            lines.append([claim.text, f"{fmean(gains):+.2f}" if gains else ""])
            family.append([*found.values()])
    return table("claim", ["paper", "here", "data sets", "verdict", "with Holm's correction"], [
        [*line, difference_told(case), str(len(sets)), case.verdict, case.corrected]
        for line, sets, case in zip(lines, family, judged(family), strict=True)
    ])  # fmt: skip


def difference_told(case: Judged, sets: int = 0, of_sets: int = 0) -> str:
    """Such as '+0.35 [-0.36, +1.05], 3 of 6 sets; other sets [-0.90, +1.60]'."""
    over = case.over_sets
    known = f", {sets} of {of_sets} sets" if sets < of_sets else ""
    others = f"; other sets [{over.low:+.2f}, {over.high:+.2f}]" if over.low is not None else ""
    return f"{case.found}{known}{others}"


def mean_told(differences: Sequence[np.ndarray]) -> str:
    """The mean of differences (seeds,) over data sets, with its intervals."""
    return difference_told(judged([differences])[0])


def accuracies(methods: Sequence[str], names: Sequence[str], published: Published, rows: list[Row]) -> str:
    """Mean and standard deviation over the seeds of each method on each set, and the paper's accuracy."""
    told = {name: {method: f" ({value:.1f})" for method, value in published[name].items()} for name in names}
    return table("method", names, [
        [method, *((mean_of(method, name, rows) + told[name].get(method, "")).strip() for name in names)]
        for method in methods
    ])  # fmt: skip


def differences(
    baseline: str, methods: Sequence[str], names: Sequence[str], published: Published, rows: list[Row]
) -> str:
    """Differences from the baseline, paired by seed, with 95 % intervals; and their mean over these sets."""
    lines = []
    for method in [method for method in methods if method != baseline]:
        pairs, cells = paired_by_set(method, baseline, names, rows), []
        for name in names:
            told = published[name]
            found = mean_told([pairs[name]]) if name in pairs else ""
            paper = f" ({told[method] - told[baseline]:+.1f})" if {method, baseline} <= {*told} else ""
            cells.append(f"{found}{paper}".strip())
        lines.append([method, *cells, mean_told([*pairs.values()]) if pairs else ""])
    return table("method", [*names, "mean over the sets"], lines)


def paired_by_set(method: str, baseline: str, names: Sequence[str], rows: list[Row]) -> dict[str, np.ndarray]:
    """The differences of two methods (seeds,) on each data set that has both, of the seeds that both have there."""
    found = {}
    for name in names:
        own, base = by_seed(method, name, rows), by_seed(baseline, name, rows)
        if common := sorted({*own} & {*base}):
            found[name] = np.array([own[seed] - base[seed] for seed in common])
    return found


def by_size(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """The runs by their number of training rows, ascending."""
    return {size: [row for row in rows if row["rows"] == size] for size in sorted({row["rows"] for row in rows})}


def by_seed(method: str, name: str, rows: list[Row]) -> dict[int, float]:
    """The accuracies in percent of a method on a set, by seed."""
    return {
        row["seed"]: 100 * row["accuracy"]
        for row in sorted(rows, key=lambda row: row["seed"]) if (row["method"], row["set"]) == (method, name)
    }  # fmt: skip


def mean_of(method: str, name: str, rows: list[Row]) -> str:
    """Mean and standard deviation over the seeds of a method's accuracy on a set; empty without a run."""
    values = list(by_seed(method, name, rows).values())
    return spread(values) if values else ""


def measured_of(methods: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Those of the methods that have a run."""
    return [method for method in methods if any(row["method"] == method for row in rows)]


def table(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table in markdown; nothing without lines."""
    return markdown([title, *columns], lines) if lines else ""


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
        sizes: numbers of training rows.
        model: the encoder.
        of_encoders: by encoder, `published` of a paper that has several; other encoders take `published`.
        curves: whether the numbers of rows stand beside each other, and are drawn as curves.
    """

    methods: Mapping[str, Choice]
    published: Published
    sizes: tuple[int, ...] = (500,)
    model: str = MINILM
    of_encoders: Mapping[str, Published] = field(default_factory=dict)
    curves: bool = False

    def cells(self, sets: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
        """Every method on every set, seed by seed, so that an interrupted table has compared all methods."""
        return [
            Cell(name, method, rows, seed, self.model)
            for seed in seeds for rows in self.sizes for name in sets for method in self.methods
        ]  # fmt: skip

    def run(self, cell: Cell, data_dir: Path | None) -> Row:
        """Trains one model and measures its accuracy on test rows."""
        started = time.time()
        data = part_of(load(cell.set, data_dir, cell.seed), cell.rows, cell.seed)
        chosen = self.methods[cell.method]
        if callable(chosen):
            chosen = chosen(cell.set, load_configuration(cell.model).num_hidden_layers)
        settings = dict(chosen)
        part = settings.pop(FIRST, 0.0)
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
        """For each number of training rows the accuracies and the differences from the baseline.

        The first method is the baseline. Methods without a run are left out, and tables without a line; `told` gives a
        number of training rows in words.
        """
        parts = []
        for model in dict.fromkeys(row["model"] for row in rows):
            own = [row for row in rows if row["model"] == model]
            published = self.of_encoders.get(model, self.published)
            told = self.told_by_rows(own) if self.curves else report([*self.methods], published, (), own)
            parts += [f"Encoder: {model}"] * (model != MINILM) + [told, *passes(own)]
        return "\n\n".join(parts).strip()

    def told_by_rows(self, rows: list[Row]) -> str:
        """The accuracies on each data set by the number of training rows."""
        parts = []
        for name in sets_of(rows):
            of_set = [row for row in rows if row["set"] == name]
            sizes = by_size(of_set)
            found = table("method", [f"{size:,} rows" for size in sizes], [
                [method, *(mean_of(method, name, own) for own in sizes.values())]
                for method in measured_of([*self.methods], of_set)
            ])  # fmt: skip
            parts.append(f"Accuracy in percent, {name}\n\n{found}")
        return "\n\n".join(parts)

    def pictures(self, rows: list[Row], folder: Path) -> Iterator[str]:
        """A curve for each method on each data set of each encoder, over the sizes at which all of them have runs."""
        for model in dict.fromkeys(row["model"] for row in rows):
            own = [row for row in rows if row["model"] == model]
            for name in sets_of(own):
                curves = curves_of([*self.methods], name, [row for row in own if row["set"] == name])
                if len(curves.rows) > 1:
                    drawing = learning_curves(curves)
                    file = folder / f"curves-{name}-{Path(model).name}"
                    save(drawing.draw, file, drawing.size, drawing.panels)
                    yield file.name

    def table(self, name: str, paper: str) -> Table[Cell]:
        """The table as `salience reproduce` runs it."""
        return Table(
            name=name, paper=paper, published=self.published, cell=Cell, keys=("accuracy", "text_passes"),
            cells=self.cells, run=self.run, report=self.report, known={"set": self.published, "method": self.methods},
            pictures=self.pictures if self.curves else None,
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
    for size, own in by_size(rows).items():
        told = []
        for name in sets_of(own):
            found = [row["text_passes"] for row in own if row["set"] == name]
            told.append(f"{name} {fmean(found):,.0f} (± {50 * (max(found) - min(found)) / fmean(found):.1f} %)")
        lines.append(f"Passes of texts in a run, {size:,} training rows: {', '.join(told)}")
    return lines


def prepare_equal(
    data: Task, name: str, settings: Settings, seed: int, encoder: str = MINILM, part: float = 0.0
) -> Prepared:
    """An encoder, ready for a training with as many passes of texts as plain training has by default.

    `part` of the steps train without mixing first, at one pass each.
    """
    set_seed(seed)
    settings = {"trained_layers": "all", **settings}  # so that no difference between methods is one of depth
    recipe = Recipe(data=name, seed=seed, validation_share=0.0, estimate="none", **settings)
    model, tokenizer = load_classifier(encoder, data.labels, recipe.dropout)
    classifier = TextClassifier(model, tokenizer, LONGEST)
    prepared = prepare(recipe, replace(data, test=Texts([])), classifier=classifier)
    plan = prepared.plan
    cost = passes_per_step(prepared.method, plan.clean, prepared.model)
    return replace(prepared, plan=replace(plan, steps=max(1, round(plan.steps / (part + (1 - part) * cost)))))


def in_turn(prepared: Prepared, part: float) -> list[Prepared]:
    """A training of the model without mixing, for a part of the steps, and one with the method, by the next seed."""
    plan = prepared.plan
    first = min(max(1, round(plan.steps * part)), plan.steps - 1)
    plain = replace(plan, method="plain", method_options={}, steps=first)
    mixed = replace(
        plan, steps=plan.steps - first, learning_rate=plan.learning_rate * RATE, seed=(plan.seed + 1) % 2**32
    )
    return [replace(prepared, plan=plain, method=None), replace(prepared, plan=mixed)]


def mixing_alone(method: str, **options: Any) -> dict[str, Any]:
    """The settings of a training on mixtures only, as AttentionMix and DropMix train."""
    return {"method": method, "method_options": options, "clean": 0.0}


def curves_of(methods: Sequence[str], name: str, rows: list[Row]) -> LearningCurves:
    """The accuracies in percent at the numbers of training rows at which every method of the set has a run."""
    measured = measured_of(methods, rows)
    complete = {
        size: own for size, own in by_size(rows).items() if all(by_seed(method, name, own) for method in measured)
    }
    values = {method: [list(by_seed(method, name, own).values()) for own in complete.values()] for method in measured}
    return LearningCurves(name, [*complete], values)
