"""Kong et al. (EMNLP 2022, DropMix), Table 5 and Figure 3c: which channels matter for which class, and their words.

MiniLM in place of BERT-base, trained with DropMix-C, whose channels these are, on 2,000 rows, in which the words are
counted. How much a word is a class's own is seen in the texts that have it: half, if the other class has it as often.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from salience.analysis.channels import scan_channels
from salience.comparison.statistics import spread
from salience.data.encoding import Encoded
from salience.reproduce.cells import Cell, cells
from salience.reproduce.datasets import load
from salience.reproduce.training import drawn, encode, train_minilm
from salience.training.word_models import accuracy

__all__ = ["PUBLISHED", "Cell", "cells", "report", "run"]  # a table of `salience reproduce`

RATIO, TOP, WORDS, ROWS, LONGEST = 0.1, 3, 15, 2000, 128
# Each class's first channels, each with the words that were counted most.
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


def run(cell: Cell, data_dir: Path | None) -> dict:
    """One training, and of each class its leading channels with their words, how often, and how much its own."""
    started, data = time.time(), load(cell.set, data_dir, cell.seed)
    data = replace(data, training=drawn(data.training, ROWS, cell.seed))
    classifier = train_minilm(data, "dropmix-c", cell.seed, LONGEST)
    texts = encode(classifier, data.training)
    found, classes = scan_channels(classifier.model, texts, RATIO), len(data.labels)
    own = belonging(texts, classes)
    return {
        "accuracy": accuracy(classifier.model, encode(classifier, data.test)), "rows": len(texts), "ratio": RATIO,
        "most preferred": dict(zip(data.labels, found.preference(classes).max(1).tolist(), strict=True)),
        "channels": {
            data.labels[label]: {
                str(channel): words(counts, own[label], classifier.tokenizer) for channel, counts in channels.items()
            }
            for label, channels in found.leading(classes, TOP).items()
        },
        "seconds": round(time.time() - started, 1),
    }  # fmt: skip


def words(counts: Counter[int], own: np.ndarray, tokenizer) -> list[tuple[str, int, float]]:
    """The most frequent word pieces, with their number and how much they are the class's own."""
    return [
        (tokenizer.convert_ids_to_tokens(token), count, round(float(own[token]), 3))
        for token, count in counts.most_common(WORDS)
    ]


def belonging(texts: Encoded, classes: int) -> np.ndarray:
    """How much a token is a class's own (C, V): the part of the class's texts that have it, over the sum of this part
    and that of the other classes' mean."""
    labels = np.asarray(texts.labels)
    found = np.zeros((classes, max(max(row["input_ids"]) for row in texts) + 1))
    for row, label in zip(texts, labels, strict=True):
        found[label, np.unique(row["input_ids"])] += 1
    rate = found / np.maximum(np.bincount(labels, minlength=classes), 1)[:, None]
    others = (rate.sum(0) - rate) / (classes - 1)
    return rate / np.maximum(rate + others, np.finfo(float).tiny)


def report(rows: list[dict]) -> str:
    """The words of the first seed beside the paper's, then what all seeds say."""
    lines = []
    for name, told in PUBLISHED.items():
        own = sorted((row for row in rows if row["set"] == name), key=lambda row: row["seed"])
        if own:
            lines += [f"{name}, channels and words of seed {own[0]['seed']}", "", "| class | channel | words |",
                      "|---|---|---|"]  # fmt: skip
            for label, published in told.items():
                for channel, found in own[0]["channels"][label].items():
                    lines.append(f"| {label} | {channel} | {quoted(word for word, *_ in found)} |")
                for channel, text in published.items():
                    lines.append(f"| {label}, paper | {channel} | {quoted(text.split())} |")
            lines += ["", "| class | seeds | the class's own, % | in the paper's lists, % | largest preference |",
                      "|---|---|---|---|---|"]  # fmt: skip
            lines += [f"| {label} | {len(own)} | {' | '.join(summary(own, label, told[label]))} |" for label in told]
    return "\n".join(lines)


def summary(rows: list[dict], label: str, told: dict[str, str]) -> list[str]:
    """Over seeds: how much the listed words are the class's own, how many of them the paper lists, Figure 3c's end."""
    listed = [[entry for found in row["channels"][label].values() for entry in found] for row in rows]
    known = set(" ".join(told.values()).split())
    return [
        spread(100 * np.array([np.mean([own for *_, own in entries]) for entries in listed])),
        spread(100 * np.array([np.mean([word in known for word, *_ in entries]) for entries in listed])),
        spread(np.array([row["most preferred"][label] for row in rows])),
    ]


def quoted(words: Iterable[str]) -> str:
    return " ".join(f"`{word}`" for word in words)
