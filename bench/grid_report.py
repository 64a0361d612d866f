"""How long `salience compare` takes to read a finished grid and to report it.

The runs are made up: folders with recipe, metrics and probabilities as a run writes them, of five data sets, two
sizes, ten methods and ten seeds, 1,000 runs with 2,000 test rows each. The time is that of `compare`, which finds all
runs done, of its evidence, and of both reports, with stored heat maps of the texts on which methods disagree.

    python bench/grid_report.py
    python bench/grid_report.py --classes 20 --seeds 5
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import partial
from io import StringIO
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import yaml

from salience.cli.compare import show_and_report
from salience.comparison.comparing import Cell, cells_of, compare
from salience.comparison.comparison import Comparison
from salience.comparison.grid import Grid, Key, method_variants, with_method_of
from salience.comparison.heat_maps import EXPLAINER, ExplainedText, digest_of_run, write_explanations
from salience.comparison.planning import Known
from salience.explainers.explanation import Explanation
from salience.runs.folder import PROBABILITIES
from salience.runs.results import read_run, versions
from salience.scores.labels import ONE_LABEL
from salience.training.recipe import Recipe
from salience.training.task import checksums

SIZES, SETS = [100, 1000], 5


def write_grid(place: Path, options: argparse.Namespace) -> tuple[Recipe, dict, list[str], dict[Key, Path]]:
    """Writes the folders of all runs; returns the arguments of the comparison and these folders."""
    sets = {}
    for number in range(SETS):
        for part in ("data", "test"):
            (place / f"{part}{number}.csv").write_text(f"text,label\nset {number},0\n", encoding="utf-8")
        sets[f"set{number}"] = {part: str(place / f"{part}{number}.csv") for part in ("data", "test")}
    methods = ["plain", *(f"ssmix:window={number / 20}" for number in range(1, options.methods))]
    base = Recipe(sets["set0"]["data"], precision="fp32")
    grid = Grid(method_variants(base, methods), range(options.seeds), SIZES, (), sets)
    plans = {}
    known = Known(place / "out" / "grid.json")
    for condition in grid.conditions():
        asked = grid.recipe(condition, "plain", 0)
        asked = replace(asked, checksums=checksums(asked))
        whole = replace(asked, max_length=128, validation_share=0.2, text="text", label="label").resolved(80, 2, 384)
        plans[condition] = {name: with_method_of(whole, recipe) for name, recipe in grid.recipes.items()}
        known.recipes.append((asked, whole))
    known.write()
    random = np.random.default_rng(0)
    labels = random.integers(0, options.classes, options.rows)
    cells = cells_of(grid, plans, place / "out")
    for cell in cells:
        write_run(cell, labels, options.classes, random)
    return base, sets, methods, {(cell.condition, cell.method, cell.seed): cell.folder for cell in cells}


def write_run(cell: Cell, labels: np.ndarray, classes: int, random: np.random.Generator) -> None:
    """A folder as a run writes it; texts are written for all runs, as they are."""
    cell.folder.mkdir(parents=True)
    logits = 2 * np.eye(classes)[labels] + random.normal(size=(len(labels), classes))
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    names = np.array([f"class {number}" for number in range(classes)])
    metrics = {
        "test": ONE_LABEL.detailed(probabilities, labels), "judged_on": "test",
        "baselines": {}, "temperature_scaling": {},
        "rows": {"training": 80, "validation": 20, "test": len(labels)},
        "seconds": float(random.uniform(50, 100)), "versions": versions(), "machine": {"device": "cpu"},
    }  # fmt: skip
    (cell.folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    np.savez(cell.folder / PROBABILITIES, probabilities=probabilities.astype("float32"), labels=labels, names=names)
    rows = (
        {"row": row + 1, "text": f"the text {row} " * 10, "label": names[label], "predicted": names[0],
         "probabilities": [0.5] * classes}
        for row, label in enumerate(labels)
    )  # fmt: skip
    (cell.folder / "predictions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    recipe = yaml.safe_dump(cell.wanted.as_mapping(), sort_keys=False)
    (cell.folder / "recipe.yaml").write_text(recipe, encoding="utf-8")


def write_heat_maps(comparison: Comparison, methods: Sequence[str], folders: dict[Key, Path], output: Path) -> None:
    """Stores made-up explanations of the texts on which methods disagree, as the models of a grid would."""
    random = np.random.default_rng(0)
    stored = {}
    for predictions in comparison.predictions:
        condition, classes = predictions.results.condition, len(predictions.labels)
        for method, text in product(methods, predictions.texts):
            words = text.text.split()
            scores = {EXPLAINER: random.random(len(words))}
            chances = random.dirichlet(np.ones(classes))
            key = ExplainedText(condition, method, 0, digest_of_run(read_run(folders[condition, method, 0])), text.row)
            stored[key] = Explanation(
                words, None, predictions.labels, chances, int(chances.argmax()), None, scores, text.row
            )
    write_explanations(output, stored)


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Prints the seconds of what the `with` does, by the clock and of the processor, which others may share."""
    started, used = time.perf_counter(), time.process_time()
    yield
    seconds = time.perf_counter() - started
    print(f"{what}: {seconds:.1f} s, {time.process_time() - used:.1f} s of the processor", flush=True)


def main() -> None:
    """Writes a grid and times how it is read and reported."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("methods", 10), ("seeds", 10), ("rows", 2000), ("classes", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        place = Path(folder)
        base, sets, methods, folders = write_grid(place, options)
        print(f"{len(folders):,} runs, {options.rows:,} test rows, {options.classes} classes")
        read = partial(
            compare, base, methods, range(options.seeds), place / "out", note=lambda line: None, sizes=SIZES,
            data_sets=sets, references=(), budget="steps",
        )  # fmt: skip
        write_heat_maps(read(heat_maps=False), methods, folders, place / "out")
        with timed("reading and comparing"):
            comparison = read()
        assert not comparison.heat_maps.missing and comparison.heat_maps.of_texts
        with timed("reporting"), redirect_stdout(StringIO()):
            show_and_report(comparison, place / "out")
        print(f"report.html: {(place / 'out' / 'report.html').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
