"""What marked words are worth: rows with and without marks, other uses of the marks, and random words in their place.

    python bench/marks.py --data-dir DATA --sizes 50 100 200 --head-alone
    python bench/marks.py --data-dir DATA --sizes 50 100 --seeds 0 1 2 3 4 --ways "rows alone" marks "marks, longer"
    python bench/marks.py --show

Sets of rows with marks, of which as many of each label are drawn:

- sst_trees: sentences of the Stanford Sentiment Treebank that are positive or negative; marked are the words whose own
  label in the tree is that of the sentence;
- movie_rationales: reviews of some 800 words, of which the first 256 tokens are read; marked is what people named as
  their reasons;
- ag_news: marked are words of the class, the `CLASS_WORDS` with the highest weights in a regression on 20,000 other
  rows. Nobody has marked them.

They are of the training files, and tested on their development files or on further training rows; those on films also
on sentences of MR. Every run is a line of OUTPUT and is not made again; the differences are printed, paired by draw.
Each way adds further texts to the rows:

- marks: what `salience train --marks` does, the marked words of a row as a text of its label;
- a third marked: the same, with marks on every third row alone;
- marks, longer: the same in 1.4 times as many steps, twice as many as of the rows alone;
- each word: each marked word as a text; marks, each word: both;
- nothing left: marks, and the row without them, once with each label (Zaidan, Eisner and Piatko, 2007, ask for a
  margin);
- counterfactual: marks, and the row with the marked words of a row of the other label, and its label (Lu et al., 2022,
  arXiv:2203.12918);

or reads the marks in every step, at twice the time of the rows alone (`bench/marked_objectives.py`):

- nothing left, soft; right reasons: marks, and a further loss;
- ssmix, attentionmix, dropmix-g: each in place of the default's mixtures, guided as in its paper, or "by marks".
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from marked_objectives import GUIDED, OBJECTIVES, UNGUIDED, Marked
from salience.classify import TextClassifier
from salience.classify.frozen_encoder import KeptEncoder, load_frozen
from salience.data.corrections import further_texts, together, without
from salience.data.marks import marks_in
from salience.data.texts import Texts
from salience.data.words import plain_word
from salience.explainers.integrated import IntegratedGradients
from salience.faithfulness.evaluation import evaluate
from salience.training.fit import build_trainer
from salience.training.head import regression_of
from salience.training.prepare import Prepared
from salience.training.recipe import Recipe
from salience.training.run import train

Row = tuple[str, str, list[int]]  # text, label, and which of its words are marked
Drawn = tuple[str, str, list[int], list[int]]  # and as many words at random places
Way = Callable[..., Texts]  # the further texts of rows, as `further_texts`
FILM = ("negative", "positive")
TESTED, FOREIGN, EXPLAINED = 500, 500, 40  # rows of a training file that are tested on, of MR, and explained
EXPLAINER, POINTS = "integrated-gradients", 2
READ = {"movie_rationales": 256}  # tokens of a text
CLASS_WORDS = 100  # of each class of AG News
# Multiples of all steps, in place of 0.25: a pass more takes as long as a step less.
STEPS = {"rows alone, longer": 0.5, "marks, longer": 0.3525, "nothing left, soft": 0.21, "right reasons": 0.12}


class MarkedSet(NamedTuple):
    """Rows to draw from, rows to test on, and rows of another set of the same task, perhaps none."""

    labels: Sequence[str]
    rows: list[Row]
    tested: list[Row]
    foreign: list[Row]


def main() -> None:
    """Trains what is missing and prints the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["sst_trees"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[50, 100, 200])
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(10)))
    parser.add_argument("--head-alone", action="store_true", help="a regression on frozen vectors")
    parser.add_argument("--ways", nargs="+", default=["rows alone", "marks", "random words"])
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--trained-layers", type=int, help="layers from the top  [default: all]")
    parser.add_argument("--output", type=Path, default=Path("results/studies/marks.jsonl"))
    parser.add_argument("--show", action="store_true", help="print what was found")
    options = parser.parse_args()
    top = options.trained_layers
    training = "head alone" if options.head_alone else "trained" if top is None else f"trained, {top} layers"
    done = pd.read_json(options.output, lines=True) if options.output.exists() else pd.DataFrame(columns=["way"])
    for name in [] if options.show else options.sets:
        marked_set = SETS[name](options.data_dir)
        encoder = KeptEncoder(options.model, READ.get(name), precision="fp32")
        recipe = Recipe("", model=options.model, precision="fp32", trained_layers="all" if top is None else top)
        if name in READ:
            recipe = replace(recipe, max_length=READ[name])
        for size in options.sizes:
            for seed in options.seeds:
                chosen = drawn(marked_set, size, seed)
                for way in options.ways:
                    key = {"set": name, "model": Path(options.model).name, "training": training, "size": size,
                           "seed": seed, "way": way}  # fmt: skip
                    if len(done) and (done[list(key)] == list(key.values())).all(1).any():
                        continue
                    if options.head_alone:
                        found = of_head(encoder, chosen, marked_set, way)
                    else:
                        found = of_run(chosen, marked_set, replace(recipe, seed=seed), way)
                    with options.output.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(key | found) + "\n")
    show(pd.read_json(options.output, lines=True))


def of_head(encoder: KeptEncoder, rows: list[Drawn], of_set: MarkedSet, way: str) -> dict[str, float]:
    """The accuracy of the head alone: a regression on the frozen vectors of the rows and their further texts."""
    labels = of_set.labels
    column = 2 + (way == "random words")
    marks = [marks_in(row[column], {"text": row[0]}, [row[1]], labels) if has_marks(number, way) else []
             for number, row in enumerate(rows)]  # fmt: skip
    texts = Texts([row[0] for row in rows], labels=[labels.index(row[1]) for row in rows], marks=marks)
    further = WAYS[way](texts, labels)
    vectors = np.concatenate([encoder.vectors(part) for part in (texts, further) if len(part)])
    weights, biases = regression_of(vectors, np.concatenate([texts.known_labels, further.known_labels]), len(labels))
    found = {}
    for name, part in (("accuracy", of_set.tested), ("foreign", of_set.foreign)):
        if part:
            predicted = (encoder.vectors([row[0] for row in part]) @ weights.T + biases).argmax(1)
            found[name] = right(predicted, part, labels)
    return found


def right(predicted: np.ndarray, rows: list[Row], labels: Sequence[str]) -> float:
    return float(np.mean([labels[one] == row[1] for one, row in zip(predicted, rows, strict=True)]))


def has_marks(number: int, way: str) -> bool:
    return way != "rows alone" and (way != "a third marked" or number % 3 == 0)


def of_run(rows: list[Drawn], of_set: MarkedSet, recipe: Recipe, way: str) -> dict[str, float]:
    """The scores of a run on the rows, and of the explanations of some texts."""
    own = way.startswith(("rows alone", *UNGUIDED))
    column = None if own else "drawn" if way == "random words" else "marked"
    with TemporaryDirectory() as folder, ExitStack() as changed:
        changed.enter_context(patch("salience.data.task.further_texts", WAYS.get(way, further_texts)))
        data, test = Path(folder) / "rows.csv", Path(folder) / "test.csv"
        written = [row if has_marks(number, way) else (*row[:2], [], []) for number, row in enumerate(rows)]
        write(data, written, ("text", "label", "marked", "drawn"))
        write(test, [row[:2] for row in of_set.tested], ("text", "label"))
        factor = STEPS.get(way)
        recipe = replace(recipe, data=str(data), test=str(test), marks=column, text="text", label="label")
        recipe = recipe if factor is None else replace(recipe, steps_factor=factor)
        if way in OBJECTIVES:
            changed.enter_context(patch("salience.training.fit.build_trainer", trainer_with(way, rows)))
        if way in GUIDED or way in UNGUIDED:
            method = UNGUIDED.get(way) or GUIDED[way](marked_in(rows, recipe))
            recipe = replace(recipe, method=way.split()[0], marks=None)
            changed.enter_context(patch("salience.training.prepare.choose_method", lambda name, options: method))
        run = train(recipe, Path(folder) / "run", estimating=False, keep_model=False, note=lambda line: None)
    names = ("accuracy", "calibration_error", "log_loss")
    found = {name: run.metrics["test"][name] for name in names} | {"steps": run.metrics["steps"]}
    if of_set.foreign:
        predicted = run.classifier.predict_proba([row[0] for row in of_set.foreign]).argmax(1)
        found["foreign"] = right(predicted, of_set.foreign, run.classifier.labels)
    small = run.classifier.model.config.hidden_size < 768  # explanations of a larger one take ten minutes
    return found | (of_explanations(run.classifier, of_set.tested) if small else {})


def of_explanations(classifier: TextClassifier, rows: list[Row]) -> dict[str, float]:
    """What explanations of texts with marks say: how faithful they are, and how far they find the marked words."""
    some = random.Random(0).sample([row for row in rows if any(row[2])], EXPLAINED)
    texts = Texts([row[0] for row in some], labels=[classifier.labels.index(row[1]) for row in some],
                  marks=[row[2] for row in some])  # fmt: skip
    explainers = {EXPLAINER: IntegratedGradients(POINTS)}
    row = evaluate(classifier, texts, explainers=explainers, metrics=("comprehensiveness", "detection@5"))[EXPLAINER]
    precision = np.mean([of_class["P@1"] for of_class in row.marked.values()]) / 100
    return {"comprehensiveness": row.metrics["comprehensiveness"].mean, "first word marked": float(precision)}


def marked_in(rows: list[Drawn], recipe: Recipe) -> Marked:
    encoder = load_frozen(recipe.model, recipe.max_length)
    marks = [marks_in(row[2], {"text": row[0]}, [row[1]], [row[1]]) for row in rows]
    return Marked.of(encoder.tokenizer, [row[0] for row in rows], marks, encoder.max_length)


def trainer_with(way: str, rows: list[Drawn]) -> Callable[..., Any]:
    def build(prepared: Prepared, *given: Any) -> Any:
        trainer = build_trainer(prepared, *given)
        trainer.objective = OBJECTIVES[way](trainer.objective, marked_in(rows, prepared.plan))
        return trainer

    return build


def each_word(texts: Texts, names: Sequence[str], taken_out: Sequence[str] = ()) -> Texts:
    found = [(text[mark.start : mark.end], label) for text, marks, label in
             zip(texts.texts, texts.marks or [], texts.known_labels, strict=True) for mark in marks]  # fmt: skip
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
    "marks, longer": further_texts, "a third marked": further_texts, "each word": each_word,
    "marks, each word": together_with(further_texts, each_word),
    "nothing left": together_with(further_texts, nothing_left),
    "counterfactual": together_with(further_texts, counterfactual),
}  # fmt: skip


def opened(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return list(map(json.loads, lines))


def film_sentences(data_dir: Path) -> list[Row]:
    rows = random.Random(0).sample(opened(data_dir / "mr" / "train.jsonl.gz"), FOREIGN)
    return [(row["text"], row["label"], []) for row in rows]


def sst_trees(data_dir: Path) -> MarkedSet:
    parts = ([
        (" ".join(word.replace("\xa0", "_") for word in row["tokens"]), row["label"],
         [int(label == row["label"]) for label in row["token_labels"]])
        for row in opened(data_dir / "sst_trees" / f"{part}.jsonl.gz") if row["label"] in FILM
    ] for part in ("train", "dev"))  # fmt: skip
    return MarkedSet(FILM, *parts, film_sentences(data_dir))


def movie_rationales(data_dir: Path) -> MarkedSet:
    rows, dev = ([
        (" ".join(row["tokens"]), row["label"], [int(mark) for mark in row["token_labels"]])
        for row in opened(data_dir / "movie_rationales" / f"{part}.jsonl.gz")
    ] for part in ("train", "dev"))  # fmt: skip
    further = TESTED - len(dev)
    rows = random.Random(0).sample(rows, len(rows))
    return MarkedSet(FILM, rows[further:], dev + rows[:further], film_sentences(data_dir))


def ag_news(data_dir: Path) -> MarkedSet:
    rows = random.Random(0).sample(opened(data_dir / "ag_news" / "train.jsonl.gz"), 30_000)
    others, own = rows[:20_000], rows[20_000:]
    weighed = TfidfVectorizer(tokenizer=lambda text: [*map(plain_word, text.split())], token_pattern=None, min_df=5)
    regression = LogisticRegression().fit(weighed.fit_transform([row["text"] for row in others]),
                                          [row["label"] for row in others])  # fmt: skip
    names = weighed.get_feature_names_out()
    words = {label: {word for word in names[weights.argsort()[-CLASS_WORDS:]] if word}
             for label, weights in zip(regression.classes_, regression.coef_, strict=True)}  # fmt: skip
    texts = [row["text"].split() for row in own]
    marked = [(" ".join(text), row["label"], [int(plain_word(word) in words[row["label"]]) for word in text])
              for text, row in zip(texts, own, strict=True)]  # fmt: skip
    return MarkedSet(sorted(words), marked[TESTED:], marked[:TESTED], [])


SETS: dict[str, Callable[[Path], MarkedSet]] = {
    "sst_trees": sst_trees, "movie_rationales": movie_rationales, "ag_news": ag_news,
}  # fmt: skip


def drawn(of_set: MarkedSet, size: int, seed: int) -> list[Drawn]:
    """`size` rows with marked words, as many of each label; the last column marks as many words at random places."""
    generator = random.Random(seed)
    shuffled, each = generator.sample(of_set.rows, len(of_set.rows)), size // len(of_set.labels)
    chosen = [row for label in of_set.labels for row in [r for r in shuffled if r[1] == label and any(r[2])][:each]]
    return [(*row, generator.sample(row[2], len(row[2]))) for row in chosen]


def write(file: Path, rows: list[tuple], header: tuple[str, ...]) -> None:
    with file.open("w", encoding="utf-8", newline="") as target:
        csv.writer(target).writerows([header, *rows])


def show(runs: pd.DataFrame) -> None:
    """The mean of each way, and of its differences from the rows alone, with the standard error over draws."""
    scores = ("accuracy", "foreign", "calibration_error", "log_loss", "comprehensiveness", "first word marked")
    for key, part in runs.groupby(["set", "model", "training", "size"]):
        for score in [name for name in scores if name in part and part[name].notna().any()]:
            cell = part.pivot_table(score, "seed", "way") * (1 if score == "log_loss" else 100)
            for way in cell.columns:
                difference = (cell[way] - cell.get("rows alone", np.nan)).dropna()
                if len(difference):
                    print(
                        *key, f"{score}, {way}: {cell[way].mean():.2f}, {difference.mean():+.2f} "
                        f"({difference.sem():.2f}), {len(difference)} draws"
                    )  # fmt: skip


if __name__ == "__main__":
    main()
