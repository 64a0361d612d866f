"""Kong et al. (EMNLP 2022, DropMix), Table 5 and Figure 3c: channels that matter for a class, and their words.

DropMix, doi:10.18653/v1/2022.emnlp-main.57. MiniLM replaces BERT-base and is trained on 2,000 rows with DropMix-C,
which drops channels. Words are counted in the training rows. The share of a word that belongs to a class is computed
from the texts that contain the word: it is one half if the other class contains the word as often.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from salience.comparison.variation import spread
from salience.data.encoding import Encoded
from salience.data.splitting import drawn
from salience.papers.datasets import accuracy, load, train_minilm
from salience.papers.dropmix.channels import scan_channels
from salience.papers.table import Cell, Row, Table, every_set_and_seed, markdown, rows_by_set

RATIO = 0.1  # share of the channels that count as important for a text
TOP, WORDS = 3, 15  # channels of a class, and words of a channel, that are listed
ROWS, LONGEST = 2000, 128  # training rows, and tokens read of a text
# The first channels of each class, each with its most frequent words.
PUBLISHED = {
    "sst2": {
        "negative": {
            "345": "too bad movie film not un no dull little like fails worst nothing story",
            "96": "movie bad film ##iche too no dull not ##less un worst flat predictable bland",
            "85": "bad too movie no dull not predictable flat worst un film less boring ##less",
        },
        "positive": {
            "93": "good movie film best funny interesting enjoyable smart clever wonderful fascinating compelling "
            "great fun",
            "183": "good funny best clever fascinating great interesting fun smart compelling movie better wonderful "
            "entertaining",
            "485": "funny good fun entertaining interesting fascinating clever best smart compelling love great "
            "enjoyable wonderful",
        },
    },
}  # fmt: skip


def run(cell: Cell, data_dir: Path | None) -> Row:
    """Trains one model and lists the leading channels of each class with their words."""
    started, data = time.time(), load(cell.set, data_dir, cell.seed)
    data = replace(data, training=drawn(data.training, ROWS, cell.seed))
    classifier = train_minilm(data, cell.set, "dropmix-c", cell.seed, LONGEST)
    texts = classifier.encode(data.training)
    scan, classes = scan_channels(classifier.model, texts, RATIO), len(data.labels)
    shares = class_shares(texts, classes)
    return {
        "accuracy": accuracy(classifier.model, classifier.encode(data.test)), "rows": len(texts), "ratio": RATIO,
        "most preferred": dict(zip(data.labels, scan.preference(classes).max(1).tolist(), strict=True)),
        "channels": {
            data.labels[label]: {
                str(channel): [
                    (classifier.tokenizer.convert_ids_to_tokens(token), count, round(float(shares[label][token]), 3))
                    for token, count in counts.most_common(WORDS)
                ]
                for channel, counts in channels.items()
            }
            for label, channels in scan.leading(classes, TOP).items()
        },
        "seconds": round(time.time() - started, 1),
    }  # fmt: skip


def class_shares(texts: Encoded, classes: int) -> np.ndarray:
    """The share of each token that belongs to each class, (C, V), between 0 and 1."""
    labels = np.asarray(texts.labels)
    tokens = [texts[row]["input_ids"] for row in range(len(texts))]
    containing = np.zeros((classes, max(map(max, tokens)) + 1))
    for row, label in zip(tokens, labels, strict=True):
        containing[label, np.unique(row)] += 1
    rate = containing / np.maximum(np.bincount(labels, minlength=classes), 1)[:, None]
    others = (rate.sum(0) - rate) / (classes - 1)  # the mean rate of the other classes
    return rate / np.maximum(rate + others, np.finfo(float).tiny)


def report(rows: list[Row]) -> str:
    """The words of the first seed beside the paper's, then a summary over seeds: the mean share of the listed words,
    the part of them that the paper lists too, and the largest preference of a channel (the end of Figure 3c)."""
    parts = []
    for name, own in rows_by_set(rows, PUBLISHED).items():
        first, told = min(own, key=lambda row: row["seed"]), PUBLISHED[name]
        words, summary = [], []
        for label, published in told.items():
            words += [
                [label, channel, marked(word for word, *_ in found)]
                for channel, found in first["channels"][label].items()
            ]
            words += [[f"{label}, paper", channel, marked(text.split())] for channel, text in published.items()]
            by_seed = [[entry for found in row["channels"][label].values() for entry in found] for row in own]
            known = set(" ".join(published.values()).split())
            values = (
                [100 * np.mean([share for *_, share in entries]) for entries in by_seed],
                [100 * np.mean([word in known for word, *_ in entries]) for entries in by_seed],
                [row["most preferred"][label] for row in own],
            )
            summary.append([label, str(len(own)), *(spread(np.array(of_seeds)) for of_seeds in values)])
        columns = ("class", "seeds", "the class's own, %", "in the paper's lists, %", "largest preference")
        parts += [
            f"{name}, channels and words of seed {first['seed']}", markdown(["class", "channel", "words"], words),
            markdown(columns, summary),
        ]  # fmt: skip
    return "\n\n".join(parts)


def marked(words: Iterable[str]) -> str:
    return " ".join(f"`{word}`" for word in words)


TABLE = Table(
    name="dropmix-table5",
    paper="Kong et al., DropMix, EMNLP 2022, doi:10.18653/v1/2022.emnlp-main.57",
    published=PUBLISHED,
    cell=Cell,
    keys=("accuracy", "most preferred", "channels"),
    cells=every_set_and_seed,
    run=run,
    report=report,
)
