"""What marked words are worth: rows with and without marks, other uses of the marks, and random words in their place.

    python bench/marks.py --data-dir DATA --sizes 50 100 200 --head-alone
    python bench/marks.py --data-dir DATA --sizes 50 100 --seeds 0 1 2 3 4 --ways "rows alone" marks "marks, longer"

Rows are sentences of the Stanford Sentiment Treebank that are positive or negative, as many of each; marked are the
words whose own label in the tree is that of the sentence. They are of its training file, and tested on its development
file. Every run is a line of OUTPUT and is not made again; the differences are printed, paired by draw. Each way adds
further texts to the rows:

- marks: what `salience train --marks` does, the marked words of a row as a text of its label;
- marks, longer: the same in 1.4 times as many steps, twice as many as of the rows alone;
- each word: each marked word as a text; marks, each word: both;
- nothing left: marks, and the row without them, once with each label (Zaidan, Eisner and Piatko, 2007, ask for a
  margin);
- counterfactual: marks, and the row with the marked words of a row of the other label, and its label (Lu et al., 2022,
  arXiv:2203.12918).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pandas as pd

from salience.classify.frozen_encoder import KeptEncoder
from salience.data.corrections import further_texts, together, without
from salience.data.marks import marks_in
from salience.data.texts import Texts
from salience.training.head import regression_of
from salience.training.recipe import Recipe
from salience.training.run import train

LABELS = ("negative", "positive")
Row = tuple[str, str, list[int]]  # text, label, and which of its words are marked
Drawn = tuple[str, str, list[int], list[int]]  # and as many words at random places
Way = Callable[..., Texts]  # the further texts of rows, as `further_texts`
LONGER = 0.3525  # multiple of all steps, in place of 0.25


def main() -> None:
    """Trains what is missing and prints the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sizes", nargs="+", type=int, default=[50, 100, 200])
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(10)))
    parser.add_argument("--head-alone", action="store_true", help="a regression on frozen vectors")
    parser.add_argument("--ways", nargs="+", default=["rows alone", "marks", "random words"])
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--output", type=Path, default=Path("results/studies/marks.jsonl"))
    options = parser.parse_args()
    training = "head alone" if options.head_alone else "trained"
    done = pd.read_json(options.output, lines=True) if options.output.exists() else pd.DataFrame(columns=["way"])
    rows, tested = (read(options.data_dir / "sst_trees" / f"{part}.jsonl.gz") for part in ("train", "dev"))
    encoder = KeptEncoder(options.model, precision="fp32")
    for size in options.sizes:
        for seed in options.seeds:
            chosen = drawn(rows, size, seed)
            for way in options.ways:
                key = {"model": options.model, "training": training, "size": size, "seed": seed, "way": way}
                if len(done) and (done[list(key)] == list(key.values())).all(1).any():
                    continue
                if options.head_alone:
                    found = of_head(encoder, chosen, tested, way)
                else:
                    found = of_run(chosen, tested, Recipe("", model=options.model, seed=seed, precision="fp32"), way)
                with options.output.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(key | found) + "\n")
    show(pd.read_json(options.output, lines=True))


def of_head(encoder: KeptEncoder, rows: list[Drawn], tested: list[Row], way: str) -> dict[str, float]:
    """The accuracy of the head alone: a regression on the frozen vectors of the rows and their further texts."""
    column = 2 + (way == "random words")
    marks = [[] if way == "rows alone" else marks_in(row[column], {"text": row[0]}, [row[1]], LABELS) for row in rows]
    texts = Texts([row[0] for row in rows], labels=[LABELS.index(row[1]) for row in rows], marks=marks)
    further = WAYS[way](texts, LABELS)
    vectors = np.concatenate([encoder.vectors(part) for part in (texts, further) if len(part)])
    weights, biases = regression_of(vectors, np.concatenate([texts.known_labels, further.known_labels]), len(LABELS))
    predicted = (encoder.vectors([row[0] for row in tested]) @ weights.T + biases).argmax(1)
    return {"accuracy": float(np.mean([LABELS[one] == row[1] for one, row in zip(predicted, tested, strict=True)]))}


def of_run(rows: list[Drawn], tested: list[Row], recipe: Recipe, way: str) -> dict[str, float]:
    """The scores of a run on the rows."""
    column = {"rows alone": None, "random words": "drawn"}.get(way, "marked")
    with TemporaryDirectory() as folder, patch("salience.data.task.further_texts", WAYS[way]):
        data, test = Path(folder) / "rows.csv", Path(folder) / "test.csv"
        write(data, rows, ("text", "label", "marked", "drawn"))
        write(test, [row[:2] for row in tested], ("text", "label"))
        recipe = replace(recipe, data=str(data), test=str(test), marks=column)
        if way == "marks, longer":
            recipe = replace(recipe, steps_factor=LONGER)
        run = train(recipe, Path(folder) / "run", estimating=False, keep_model=False, note=lambda line: None)
    names = ("accuracy", "calibration_error", "log_loss")
    return {name: run.metrics["test"][name] for name in names} | {"steps": run.metrics["steps"]}


def each_word(texts: Texts, names: Sequence[str], taken_out: Sequence[str] = ()) -> Texts:
    found = [(text[mark.start : mark.end], label) for text, marks, label in
             zip(texts.texts, texts.marks, texts.known_labels, strict=True) for mark in marks]  # fmt: skip
    return Texts([text for text, _ in found], labels=[int(label) for _, label in found])


def nothing_left(texts: Texts, names: Sequence[str], taken_out: Sequence[str] = ()) -> Texts:
    rows = [text for text in map(without, texts.texts, texts.marks) if text]
    return Texts(rows * len(names), labels=[label for label in range(len(names)) for _ in rows])


def counterfactual(texts: Texts, names: Sequence[str], taken_out: Sequence[str] = ()) -> Texts:
    generator, rows, labels = random.Random(0), list(zip(texts.texts, texts.marks, strict=True)), texts.known_labels
    found = []
    for (text, marks), label in zip(rows, labels, strict=True):
        other = generator.choice([row for row, of in zip(rows, labels, strict=True) if of != label])
        first, *further = marks
        found.append(" ".join(
            [text[: first.start], together(*other), without(text[first.end :], [
                mark._replace(start=mark.start - first.end, end=mark.end - first.end) for mark in further
            ])]
        ))  # fmt: skip
    return Texts([" ".join(text.split()) for text in found], labels=[1 - int(label) for label in labels])


def together_with(*ways: Way) -> Way:
    return lambda *given: Texts.concatenated([way(*given) for way in ways])


WAYS: dict[str, Way] = {
    "rows alone": further_texts, "marks": further_texts, "random words": further_texts,
    "marks, longer": further_texts, "each word": each_word,
    "marks, each word": together_with(further_texts, each_word),
    "nothing left": together_with(further_texts, nothing_left),
    "counterfactual": together_with(further_texts, counterfactual),
}  # fmt: skip


def read(file: Path) -> list[Row]:
    """The texts that are positive or negative, their labels, and which of their words have this label too."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["label"] in LABELS]
    return [
        (" ".join(word.replace("\xa0", "_") for word in row["tokens"]), row["label"],
         [int(label == row["label"]) for label in row["token_labels"]])
        for row in rows
    ]  # fmt: skip


def drawn(rows: list[Row], size: int, seed: int) -> list[Drawn]:
    """`size` rows with marked words, as many of each label; the last column marks as many words at random places."""
    generator = random.Random(seed)
    shuffled = generator.sample(rows, len(rows))
    chosen = [row for label in LABELS for row in [r for r in shuffled if r[1] == label and any(r[2])][: size // 2]]
    return [(*row, generator.sample(row[2], len(row[2]))) for row in chosen]


def write(file: Path, rows: list[tuple], header: tuple[str, ...]) -> None:
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([header, *rows])


def show(runs: pd.DataFrame) -> None:
    """The mean of each way, and of its differences from the rows alone, with the standard error over draws."""
    table = runs.pivot_table("accuracy", ["model", "training", "size", "seed"], "way") * 100
    for key, cell in table.groupby(level=[0, 1, 2]):
        for way in cell.columns:
            difference = (cell[way] - cell["rows alone"]).dropna()
            if not len(difference):
                continue
            print(
                *key, f"{way}: {cell[way].mean():.1f}, {difference.mean():+.1f} ({difference.sem():.1f}), "
                f"{len(difference)} draws"
            )  # fmt: skip


if __name__ == "__main__":
    main()
