"""Words that give a label away in the training rows alone: what they cost, and what a person who finds them mends.

    python bench/shortcuts.py --data-dir DATA --trained-layers 0
    python bench/shortcuts.py --data-dir DATA --kinds word --seeds 0 1 2
    python bench/shortcuts.py --show

A plant stands at a random place in all training texts of the second label, and in a random half of the test texts; of
two plants, the other one is of the first label. The person is a rule that was written before the runs. It sees what
the tools show of the planted rows: the words that `salience audit` lists, and explanations of the first 10, 20 or 50
rows in a random order. Of the three words that an explanation ranks first for the label of a row, it ignores those
that the audit lists for that label, alone or as the phrase that they are in, and those that are among the three in a
quarter of the rows looked at that have the label, and in three at least. The run is trained again with these marks
(`--ignore`).

The same person corrects 50 rows in which nothing was planted. Accuracy is in percent of 300 rows of the training file
that are not trained on. Every run is a line of OUTPUT and is not made again.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from development import development_set, drawn, rows_of
from salience.audit.words import NAME, telling_words
from salience.classify import TextClassifier
from salience.classify.frozen_encoder import sentence_vectors
from salience.data.corrections import inserted, pattern
from salience.data.task import Task
from salience.data.texts import Texts
from salience.data.words import Span, plain_word, word_spans
from salience.explainers.explain import explain_texts
from salience.explainers.integrated import IntegratedGradients
from salience.training.head import last_map, regression_of, set_map
from salience.training.recipe import Recipe
from salience.training.run import train
from salience.training.task import task_of

SETS, TESTED, SIZE = ("mr", "sst2", "subj", "ag_news"), 300, 100
TOPIC = {"mr": "film", "sst2": "film", "subj": "story", "ag_news": "company"}  # words that the texts have anyway
PLANTS = {
    "word": ["BBC"], "phrase": ["as seen before"], "source": ["( Reuters )"], "topic": [], "two": ["BBC", "Kingston"],
}  # fmt: skip
LOOKED_AT, RANKED, POINTS = (10, 20, 50), 3, 4
Ranked = dict[str, Span]  # words, with their characters


def main() -> None:
    """Makes the runs that are missing, and prints the accuracies and the share of what was lost that is given back."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--kinds", nargs="+", choices=PLANTS, default=list(PLANTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(10)))
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--trained-layers", default="all", help="0 is the head alone")
    parser.add_argument("--output", type=Path, default=Path("results/studies/shortcuts.jsonl"))
    parser.add_argument("--show", action="store_true", help="print what was found")
    options = parser.parse_args()
    layers = options.trained_layers if options.trained_layers == "all" else int(options.trained_layers)
    done = pd.read_json(options.output, lines=True).astype(str) if options.output.exists() else pd.DataFrame()
    for seed in [] if options.show else options.seeds:
        for name in options.sets:
            with TemporaryDirectory() as folder:
                files = development_set(name, options.data_dir, Path(folder))
                rows, _ = drawn(rows_of(files["data"]), SIZE, seed)
                tested, runs = rows_of(files["test"])[:TESTED], dict[tuple, tuple[float, tuple]]()
                for kind in options.kinds:
                    key = {"model": options.model, "layers": layers, "set": name, "kind": kind, "seed": seed}
                    if len(done) and (done[list(key)] == [*map(str, key.values())]).all(1).any():
                        continue
                    recipe = Recipe("", model=options.model, trained_layers=layers, seed=seed, precision="fp32")
                    found = of_draw(recipe, rows, tested, PLANTS[kind] or [TOPIC[name]], runs, Path(folder))
                    with options.output.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(key | found) + "\n")
    show(pd.read_json(options.output, lines=True))


def of_draw(
    recipe: Recipe, rows: list[dict], tested: list[dict], plants: list[str], runs: dict, place: Path
) -> dict[str, float]:
    """The accuracies of all ways, and the number of rows in which the person ignored something."""
    random = np.random.default_rng(recipe.seed)
    names = sorted({row["label"] for row in rows})
    planted, test = [dict(row) for row in rows], [dict(row) for row in tested]
    for label, plant in zip(names[1::-1], plants, strict=False):
        for row in planted:
            row["text"] = inserted(row["text"], plant, random) if row["label"] == label else row["text"]
        for row in test:
            row["text"] = inserted(row["text"], plant, random) if random.random() < 0.5 else row["text"]
    order = np.random.default_rng(recipe.seed).permutation(len(rows))[: LOOKED_AT[-1]]
    found = {}
    ways = (("no plant", rows, tested, LOOKED_AT[-1:]), ("planted", planted, test, LOOKED_AT))
    for way, own, of_test, counts in ways:
        found[way], seen = trained(recipe, own, [[]] * len(own), of_test, order, runs, place)
        for count in counts:
            ignore = ignored(own, order[:count], *seen)
            found[f"ignored of {way}, {count} rows"] = float(sum(map(bool, ignore)))
            found[f"{way}, {count} rows"], _ = trained(recipe, own, ignore, of_test, order[:0], runs, place)
    return found


def ignored(rows: list[dict], looked_at: np.ndarray, first: dict[int, Ranked], listed: Collection) -> list[list[Span]]:
    """The spans of characters of each row that the person ignores, by `what_is_seen` of the rows looked at."""
    labels = Counter(rows[number]["label"] for number in looked_at)
    often = Counter((word, rows[number]["label"]) for number in looked_at for word in first[number])
    spans: list[list[Span]] = [[] for _ in rows]
    for number in looked_at:
        label = rows[number]["label"]
        for word, span in first[number].items():
            phrases = [phrase for phrase, of in listed if of == label and word in phrase.split()]
            if phrases:
                spans[number] += [match.span() for match in pattern(phrases).finditer(rows[number]["text"])]
            elif often[word, label] >= max(3, labels[label] / 4):
                spans[number].append(span)
    return spans


def what_is_seen(
    classifier: TextClassifier, rows: list[dict], looked_at: np.ndarray
) -> tuple[dict[int, Ranked], list[tuple[str, str]]]:
    """The words that the explanation of each row ranks first; and those that the audit lists, with their labels."""
    names = classifier.labels
    texts = Texts([row["text"] for row in rows], labels=[names.index(row["label"]) for row in rows])
    listed = [(finding.details["word"], finding.details["label"]) for finding in telling_words(texts, names)]
    explained = explain_texts(classifier, texts.take(looked_at), {NAME: IntegratedGradients(POINTS)}, target="gold")
    first: dict[int, Ranked] = {}
    for number, explanation in zip(looked_at.tolist(), explained, strict=True):
        spans, places = word_spans(texts.texts[number]), np.argsort(-explanation.scores[NAME])[:RANKED]
        first[number] = {word: spans[place] for place in places if (word := plain_word(explanation.words[place]))}
    return first, listed


def trained(
    recipe: Recipe, rows: list[dict], ignore: list, tested: list[dict], looked_at: np.ndarray, runs: dict, place: Path
) -> tuple[float, tuple]:
    """The accuracy of a run in percent, and `what_is_seen` of the rows looked at.

    `runs` keeps both by the texts that are trained on and tested: several corrections may give the same ones.
    """
    files = {}
    for role, part, marks in (("data", rows, ignore), ("test", tested, [[]] * len(tested))):
        files[role] = str(place / f"{role}-now.csv")
        with open(files[role], "w", encoding="utf-8", newline="") as opened:
            lines = [(row["text"], row["label"], json.dumps(own) if own else "")
                     for row, own in zip(part, marks, strict=True)]  # fmt: skip
            csv.writer(opened).writerows([("text", "label", "not"), *lines])
    own = replace(recipe, **files, text="text", label="label", ignore="not" if any(ignore) else None)
    task = task_of(own, lambda line: None)
    key = *task.to_train_on.texts, *task.test.texts
    if key not in runs:
        if recipe.trained_layers == 0 and "frozen" in runs:
            classifier, accuracy = runs["frozen"], with_regression(runs["frozen"], task, runs)
        else:
            with TemporaryDirectory() as folder:
                run = train(own, Path(folder) / "run", estimating=False, keep_model=False, note=lambda line: None)
            classifier = runs["frozen"] = run.classifier
            accuracy = run.metrics["test"]["accuracy"]
        runs[key] = 100 * accuracy, what_is_seen(classifier, rows, looked_at) if len(looked_at) else ()
    return runs[key]


def with_regression(classifier: TextClassifier, task: Task, runs: dict) -> float:
    """Gives a classifier of the head alone the regression of a task; its accuracy, as that of a run of `train`."""
    vectors = []
    for texts in (task.to_train_on, task.test):
        read = ("vectors", *texts.texts)
        if read not in runs:
            runs[read] = sentence_vectors(classifier.model, classifier.encode(texts))
        vectors.append(runs[read])
    weights, biases = regression_of(vectors[0], task.to_train_on.known_labels, len(task.labels))
    set_map(last_map(classifier.model), weights, biases)
    return float(np.mean((vectors[1] @ weights.T + biases).argmax(1) == task.test.known_labels))


def show(runs: pd.DataFrame) -> None:
    """Means over draws, and of what the plant cost, the share that is given back, over sets and draws together."""
    ways = ["no plant", "planted", *(f"planted, {count} rows" for count in LOOKED_AT), "no plant, 50 rows"]
    for key, part in runs.groupby(["model", "layers"]):
        print(*key, f"{part.groupby(['set', 'kind']).size().min()} draws and more")
        print(part.groupby(["kind", "set"])[ways].mean().round(1).to_string())
        means = part.groupby("kind")[ways].mean()
        back = means.sub(means["planted"], axis=0).div(means["no plant"] - means["planted"], axis=0)
        print((100 * back[ways[2:-1]]).round().to_string())
        change = (part["no plant, 50 rows"] - part["no plant"]).groupby(part["set"]).mean()
        print("where nothing was planted, 50 rows corrected change", change.round(1).to_dict())


if __name__ == "__main__":
    main()
