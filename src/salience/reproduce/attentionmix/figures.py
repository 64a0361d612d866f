"""Lewy and Mańdziuk (2023, AttentionMix), Figures 5 to 7: which parts of speech the heads of a trained model look at.

MiniLM in place of BERT-base, trained with AttentionMix on 1,000 rows. The paper shows the two heads of each set that
did best in a sweep of trainings; here all 72 heads are counted, and the two that agree most with the gradient are
shown. Parts of speech are spaCy's.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from torch import Tensor

from salience.analysis.parts_of_speech import by_tag, tagged_attention
from salience.analysis.tagging import SpacyTagger
from salience.batch import Batch
from salience.comparison.statistics import spread
from salience.data.batching import DIFFERENTIATED, like_length
from salience.explainers.attention import received
from salience.hooks.attention_weights import attention
from salience.hooks.stages import depth
from salience.mixing.heads import rank_heads
from salience.reproduce.cells import Cell, cells
from salience.reproduce.datasets import load
from salience.reproduce.training import drawn, encode, train_minilm
from salience.training.word_models import accuracy

__all__ = ["PUBLISHED", "Cell", "cells", "report", "run"]  # a table of `salience reproduce`

ROWS, LOOKED_AT, LONGEST, SHOWN = 1000, 500, 128, 2
# What the paper sees in its two heads: above the mean are, or highest is.
PUBLISHED = {
    "sst5": "0:8 adjectives, adverbs, verbs; 10:3 punctuation, far above all others",
    "mr": "both heads punctuation and CCONJ",
    "imdb": "0:4 adjectives, adverbs; 0:6 adjectives, verbs",
}
OPINION = ("ADJ", "ADV", "VERB")  # which the authors expected to be attended to
TAGS = (*OPINION, "NOUN", "PROPN", "PRON", "DET", "ADP", "CCONJ", "PUNCT")


def run(cell: Cell, data_dir: Path | None) -> dict:
    """One training; for every head the mean attention of each part of speech, relative to the head's mean."""
    started, data = time.time(), load(cell.set, data_dir, cell.seed)
    data = replace(data, training=drawn(data.training, ROWS, cell.seed))
    looked_at = drawn(data.test, LOOKED_AT, seed=0)
    tagged = list(SpacyTagger()(looked_at.texts))
    classifier = train_minilm(data, "attentionmix", cell.seed, LONGEST)
    relative = []
    for layer in range(depth(classifier.model)):
        found = tagged_attention(
            classifier.model, classifier.tokenizer, looked_at.texts, tagged, EveryHead(layer), LONGEST
        )
        scores, tags = np.concatenate(found.scores), np.concatenate(found.tags)
        by_head = [by_tag(own, tags) for own in scores.T]
        relative.append([dict(zip(own.tags, own.relative.round(3).tolist(), strict=True)) for own in by_head])
    texts = encode(classifier, looked_at)
    ranked = rank_heads(
        classifier.model,
        (batch for _, batch in like_length(classifier.model, texts, labelled=True, tokens=DIFFERENTIATED)),
    )
    return {
        "accuracy": accuracy(classifier.model, texts), "rows": len(data.training.labels),
        "texts": len(texts), "tokens": dict(zip(by_head[0].tags, by_head[0].count.tolist(), strict=True)),
        "relative": relative, "agreeing": [(own.layer, own.head) for own in ranked[:SHOWN]],
        "seconds": round(time.time() - started, 1),
    }  # fmt: skip


@dataclass(frozen=True)
class EveryHead:
    """What each token receives from every head of a layer (B, T, H)."""

    layer: int

    def __call__(self, model, batch: Batch, target: Tensor | None = None) -> Tensor:
        return received(attention(model, batch, self.layer), batch).transpose(1, 2)


def report(rows: list[dict]) -> str:
    """By set: each tag's relative attention in layer 0, in the last layer, and in the two heads of the first seed;
    then in how many heads the authors' hypothesis holds."""
    lines = []
    for name, told in PUBLISHED.items():
        own = sorted((row for row in rows if row["set"] == name), key=lambda row: row["seed"])
        if not own:
            continue
        first = own[0]
        shown = [("layer 0", first["relative"][0]), (f"layer {len(first['relative']) - 1}", first["relative"][-1])]
        shown += [(f"head {layer}:{head}", [first["relative"][layer][head]]) for layer, head in first["agreeing"]]
        lines += ["", f"{name}, seed {first['seed']}; the paper: {told}", "",
                  "| attention of | " + " | ".join(TAGS) + " |", "|---" * (len(TAGS) + 1) + "|"]  # fmt: skip
        for title, heads in shown:
            lines.append(f"| {title} | " + " | ".join(f"{mean_of(heads, tag):.2f}" for tag in TAGS) + " |")
    lines += [
        "",
        "| set | seeds | heads with ADJ, ADV and VERB above their mean | with PUNCT highest |",
        "|---|---|---|---|",
    ]
    for name in PUBLISHED:
        own = [[head for layer in row["relative"] for head in layer] for row in rows if row["set"] == name]
        if own:
            opinion = [sum(all(head.get(tag, 0) > 1 for tag in OPINION) for head in heads) for heads in own]
            signs = [sum(highest(head) == "PUNCT" for head in heads) for heads in own]
            lines.append(f"| {name} | {len(own)} | {spread(opinion)} of {len(own[0])} | {spread(signs)} |")
    return "\n".join(lines).strip()


def highest(head: dict[str, float]) -> str:
    """Of the frequent tags: an interjection or two would often be the highest."""
    return max(TAGS, key=lambda tag: head.get(tag, 0))


def mean_of(heads: list[dict[str, float]], tag: str) -> float:
    return float(np.mean([head.get(tag, np.nan) for head in heads]))
