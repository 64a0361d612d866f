"""Kong et al. (EMNLP 2022, DropMix), Table 5 and Figure 3c: channels that matter for a class, and their words.

DropMix, doi:10.18653/v1/2022.emnlp-main.57. MiniLM replaces BERT-base and is trained on 2,000 rows with DropMix-C,
which drops channels. Words are counted in the training rows. The share of a word that belongs to a class is computed
from the texts that contain the word: it is one half if the other class contains the word as often.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from salience.comparison.variation import spread
from salience.data.encoding import Encoded
from salience.data.splitting import drawn
from salience.papers.datasets import load, train_minilm
from salience.papers.dropmix.channels import scan_channels
from salience.papers.table import Cell, Row, Table, every_set_and_seed
from salience.papers.uaftc.training import accuracy

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
    """Trains one model and lists the leading channels of each class with their words.

    A word is recorded with its count and the share of it that belongs to the class.
    """
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
                str(channel): _words(counts, shares[label], classifier.tokenizer)
                for channel, counts in channels.items()
            }
            for label, channels in scan.leading(classes, TOP).items()
        },
        "seconds": round(time.time() - started, 1),
    }  # fmt: skip


def _words(counts: Counter[int], shares: np.ndarray, tokenizer) -> list[tuple[str, int, float]]:
    """The most frequent word pieces, each with its count and its share of the class."""
    return [
        (tokenizer.convert_ids_to_tokens(token), count, round(float(shares[token]), 3))
        for token, count in counts.most_common(WORDS)
    ]


def class_shares(texts: Encoded, classes: int) -> np.ndarray:
    """The share of each token that belongs to each class, (C, V), between 0 and 1.

    It is the rate of the class's texts that contain the token, divided by the sum of this rate and the mean rate of
    the other classes. V is the largest token id in the texts, plus one.
    """
    labels = np.asarray(texts.labels)
    tokens = [texts[row]["input_ids"] for row in range(len(texts))]
    containing = np.zeros((classes, max(map(max, tokens)) + 1))
    for row, label in zip(tokens, labels, strict=True):
        containing[label, np.unique(row)] += 1
    rate = containing / np.maximum(np.bincount(labels, minlength=classes), 1)[:, None]
    others = (rate.sum(0) - rate) / (classes - 1)
    return rate / np.maximum(rate + others, np.finfo(float).tiny)


def report(rows: list[Row]) -> str:
    """The words of the first seed beside the paper's, then a summary over seeds."""
    lines = []
    for name, classes in PUBLISHED.items():
        of_set = sorted((row for row in rows if row["set"] == name), key=lambda row: row["seed"])
        if of_set:
            first = of_set[0]
            lines += [f"{name}, channels and words of seed {first['seed']}", "", "| class | channel | words |",
                      "|---|---|---|"]  # fmt: skip
            for label, published in classes.items():
                for channel, words in first["channels"][label].items():
                    lines.append(f"| {label} | {channel} | {_listed(word for word, *_ in words)} |")
                for channel, text in published.items():
                    lines.append(f"| {label}, paper | {channel} | {_listed(text.split())} |")
            lines += ["", "| class | seeds | the class's own, % | in the paper's lists, % | largest preference |",
                      "|---|---|---|---|---|"]  # fmt: skip
            for label, published in classes.items():
                lines.append(f"| {label} | {len(of_set)} | {' | '.join(_summary(of_set, label, published))} |")
    return "\n".join(lines)


def _summary(rows: list[Row], label: str, published: dict[str, str]) -> list[str]:
    """Over seeds: the mean share of the listed words, the part of them that the paper lists too, and the largest
    preference of a channel (the end of Figure 3c)."""
    by_seed = [[entry for words in row["channels"][label].values() for entry in words] for row in rows]
    known = set(" ".join(published.values()).split())
    return [
        spread(100 * np.array([np.mean([share for *_, share in entries]) for entries in by_seed])),
        spread(100 * np.array([np.mean([word in known for word, *_ in entries]) for entries in by_seed])),
        spread(np.array([row["most preferred"][label] for row in rows])),
    ]


def _listed(words: Iterable[str]) -> str:
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
