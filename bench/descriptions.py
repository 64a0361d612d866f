"""Accuracy of a classifier from descriptions of the labels alone, beside logistic regression on few labelled rows.

    python bench/descriptions.py --data-dir DATA

Both read the vectors of the frozen encoder. The descriptions are the names of the labels, and a sentence for each; the
sentences were written before anything was measured, and were not changed. Rows to train on are drawn from the
development sets (`bench/development.py`), as many of each class, five times.

"20 rows" is the regression with which a head begins, on rows drawn from all, ten times; "20 rows and sentences" is
the one that leans on the sentences as well (`--label-descriptions`).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from development import development_set, rows_of
from salience.classify.frozen_encoder import load_frozen
from salience.data.task import name_in_words
from salience.training.head import regression_of

SENTENCES = {
    "ag_news": {
        "World": "News about politics, wars and events in countries around the world.",
        "Sports": "News about sports: games, teams, players and championships.",
        "Business": "News about companies, markets, the economy and money.",
        "Sci/Tech": "News about science and technology: computers, the internet, software and space.",
    },
    "trec": {
        "ABBR": "What does an abbreviation stand for?",
        "DESC": "What is the meaning, definition, reason or manner of something?",
        "ENTY": "Which thing, animal, food, product, sport or colour is it?",
        "HUM": "Who is the person, or which group of people is it?",
        "LOC": "Where is the place, city, country or mountain?",
        "NUM": "How many, how much, how long or when: which number or date is it?",
    },
    "subj": {
        "subjective": "An opinion of a critic about a film.",
        "objective": "A summary of the plot of a film: what happens in the story.",
    },
    "sst2": {
        "positive": "The film is good, and the critic likes it.",
        "negative": "The film is bad, and the critic does not like it.",
    },
}
TEMPLATES = {"banking77": "A customer asks the bank about this: {}."}
SEEDS, SIZES, OTHERS = range(5), (1, 5, 10), 500  # draws, rows of a class, texts for the mean
DRAWS, DRAWN = range(10), (20, 50, 100, 200)  # draws of rows from all classes, and how many


def main() -> None:
    """Prints a line for each set, and with --output writes all accuracies."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", default="ag_news,trec,subj,sst2,banking77")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    encoder, found = load_frozen(options.model, precision="fp32"), {}
    with tempfile.TemporaryDirectory() as place:
        for name in options.sets.split(","):
            found[name] = measured(name, encoder, options.data_dir, Path(place))
            print(name, json.dumps(found[name]), flush=True)
    if options.output:
        options.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def prototypes(
    vectors: np.ndarray, labels: np.ndarray, classes: int, centre: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The directions (C, D) and offsets (C,) in float64 of a linear map from vectors of texts to similarities.

    The direction of a class is the mean of its descriptions' vectors (M, D), each of length 1 and less the centre
    (D,), scaled to length 1. The map gives (v - centre) @ direction.
    """
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    shifted = unit.astype(np.float64) - (0.0 if centre is None else centre)
    means = np.stack([shifted[labels == number].mean(0) for number in range(classes)])
    directions = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return directions, np.zeros(classes) if centre is None else -directions @ centre


def measured(name: str, encoder, data_dir: Path, place: Path) -> dict[str, list[float]]:
    """The accuracies of a development set: one from descriptions, and one for each draw from rows."""
    files = development_set(name, data_dir, place)
    rows, tested = rows_of(files["data"]), rows_of(files["test"])
    labels = sorted({row["label"] for row in rows})
    truth = np.array([labels.index(row["label"]) for row in tested])
    drawn = [draw(rows, labels, seed) for seed in SEEDS]
    needed = sorted({number for rows_of_class in drawn for numbers in rows_of_class for number in numbers})
    others = np.random.default_rng(1).permutation(len(rows))[:OTHERS].tolist()
    everything = encoder.vectors([row["text"] for row in tested])
    known = dict(zip(needed, encoder.vectors([rows[number]["text"] for number in needed]), strict=True))
    centre = encoder.vectors([rows[number]["text"] for number in others]).mean(0)
    answers: dict[str, list[float]] = {}
    words = {label: name_in_words(label) for label in labels}
    sentences = SENTENCES.get(name) or {label: TEMPLATES[name].format(words[label]) for label in labels}
    numbers = np.arange(len(labels))
    for title, texts in {
        "names": [(words[label],) for label in labels], "sentences": [(sentences[label],) for label in labels],
        "both": [(words[label], sentences[label]) for label in labels],
    }.items():  # fmt: skip
        vectors = encoder.vectors([text for several in texts for text in several])
        owners = np.repeat(numbers, [len(several) for several in texts])
        for remark, middle in (("", None), (", centred", centre)):
            directions, offsets = prototypes(vectors, owners, len(labels), middle)
            answers[title + remark] = [float(((everything @ directions.T + offsets).argmax(1) == truth).mean())]
    of_sentences = encoder.vectors([sentences[label] for label in labels])
    answers |= leaning(encoder, rows, labels, of_sentences, everything, truth)
    for size in SIZES:
        answers[f"{size} a class"] = [
            float((fitted(known, rows_of_class, size).predict(everything) == truth).mean()) for rows_of_class in drawn
        ]
    return answers


def leaning(
    encoder, rows: list[dict], labels: list[str], sentences: np.ndarray, everything: np.ndarray, truth: np.ndarray
) -> dict[str, list[float]]:
    """The accuracies of heads on drawn rows, and on drawn rows and the sentences."""
    found: dict[str, list[float]] = {}
    for seed in DRAWS:
        drawn = [rows[place] for place in np.random.default_rng(seed).permutation(len(rows))[: max(DRAWN)]]
        vectors = encoder.vectors([row["text"] for row in drawn])
        numbers = np.array([labels.index(row["label"]) for row in drawn])
        for size in DRAWN:
            both = np.concatenate([vectors[:size], sentences])
            of_both = np.concatenate([numbers[:size], np.arange(len(labels))])
            heads = {
                f"{size} rows": regression_of(vectors[:size], numbers[:size], len(labels)),
                f"{size} rows and sentences": regression_of(both, of_both, len(labels), described=len(labels)),
            }
            for name, (weights, biases) in heads.items():
                right = (everything @ weights.T + biases).argmax(1) == truth
                found.setdefault(name, []).append(float(right.mean()))
    return found


def draw(rows: list[dict], labels: list[str], seed: int) -> list[list[int]]:
    """For each label, the numbers of the most rows that are needed, drawn at random; smaller sizes take the first."""
    order = np.random.default_rng(seed).permutation(len(rows)).tolist()
    return [[number for number in order if rows[number]["label"] == label][: max(SIZES)] for label in labels]


def fitted(known: dict[int, np.ndarray], rows_of_class: list[list[int]], size: int) -> LogisticRegression:
    """The logistic regression on `size` rows of each class, as `compare --references frozen` fits it."""
    pairs = [(known[number], label) for label, numbers in enumerate(rows_of_class) for number in numbers[:size]]
    vectors, labels = zip(*pairs, strict=True)
    return LogisticRegression(C=10.0, max_iter=1000).fit(np.array(vectors), np.array(labels))


if __name__ == "__main__":
    main()
