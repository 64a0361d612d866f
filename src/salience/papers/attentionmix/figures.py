"""Lewy and Mańdziuk (2023, AttentionMix), Figures 5 to 7: the parts of speech to which trained heads attend.

AttentionMix, arXiv:2309.11104. MiniLM replaces BERT-base and is trained with AttentionMix on 1,000 rows. The paper
shows, for each set, the two heads that did best in a sweep of trainings. Here all 72 heads are measured, and the two
that agree most with the gradient are shown. Parts of speech are spaCy's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from torch import Tensor

from salience.batch import Batch
from salience.comparison.variation import spread
from salience.data.batching import DIFFERENTIATED, like_length
from salience.data.splitting import drawn
from salience.explainers.attention import received
from salience.hooks.attention import attention
from salience.hooks.stages import depth
from salience.mixing.heads import rank_heads
from salience.papers.attentionmix.parts_of_speech import SpacyTagger, bars, by_tag, named, tagged_attention
from salience.papers.datasets import accuracy, load, train_minilm
from salience.papers.table import Cell, Row, Table, every_set_and_seed, first_seed_rows, markdown, rows_by_set
from salience.report.pictures import save

ROWS = 1000  # for training
LOOKED_AT = 500  # test texts whose attention is measured
LONGEST = 128  # tokens read of a text
SHOWN = 2  # heads in the report and the pictures
# What the paper shows of its two heads: the tags above the mean, or the highest one.
PUBLISHED = {
    "sst5": "0:8 adjectives, adverbs, verbs; 10:3 punctuation, far above all others",
    "mr": "both heads punctuation and CCONJ",
    "imdb": "0:4 adjectives, adverbs; 0:6 adjectives, verbs",
}
OPINION = ("ADJ", "ADV", "VERB")  # the tags that the authors expected to be attended to
TAGS = (*OPINION, "NOUN", "PROPN", "PRON", "DET", "ADP", "CCONJ", "PUNCT")


def run(cell: Cell, data_dir: Path | None) -> Row:
    """Trains one model and measures, for every head, the mean attention to each tag relative to the head's mean."""
    started, data = time.time(), load(cell.set, data_dir, cell.seed)
    data = replace(data, training=drawn(data.training, ROWS, cell.seed))
    looked_at = drawn(data.test, LOOKED_AT, seed=0)
    tagged = list(SpacyTagger()(looked_at.texts))
    classifier = train_minilm(data, cell.set, "attentionmix", cell.seed, LONGEST)
    relative = []  # by layer and head, a value for each tag
    for layer in range(depth(classifier.model)):
        attended = tagged_attention(
            classifier.model, classifier.tokenizer, looked_at.texts, tagged, EveryHead(layer), LONGEST
        )
        scores, tags = np.concatenate(attended.scores), np.concatenate(attended.tags)
        by_head = [by_tag(of_head, tags) for of_head in scores.T]
        relative.append([dict(zip(head.tags, head.relative.round(3).tolist(), strict=True)) for head in by_head])
    texts = classifier.encode(looked_at)
    ranked = rank_heads(
        classifier.model,
        (batch for _, batch in like_length(classifier.model, texts, labelled=True, tokens=DIFFERENTIATED)),
    )
    return {
        "accuracy": accuracy(classifier.model, texts), "rows": len(data.training),
        "texts": len(texts), "tokens": dict(zip(by_head[0].tags, by_head[0].count.tolist(), strict=True)),
        "relative": relative, "agreeing": [(rank.layer, rank.head) for rank in ranked[:SHOWN]],
        "seconds": round(time.time() - started, 1),
    }  # fmt: skip


@dataclass(frozen=True)
class EveryHead:
    """An explainer: the attention that each token receives from every head of a layer (B, T, H)."""

    layer: int

    def __call__(self, model, batch: Batch, target: Tensor | None = None) -> Tensor:
        """The attention that each token receives (B, T, H) from each head of the layer."""
        return received(attention(model, batch, self.layer), batch).transpose(1, 2)


def report(rows: list[Row]) -> str:
    """For each set, the relative attention to each tag in the first and last layer and in the two shown heads of the
    first seed; then the number of heads for which the authors' hypothesis holds, over seeds."""
    by_set = rows_by_set(rows, PUBLISHED)
    parts, summary = [], []
    for name, own in by_set.items():
        first = min(own, key=lambda row: row["seed"])
        groups = {"layer 0": first["relative"][0], f"layer {len(first['relative']) - 1}": first["relative"][-1]}
        groups |= {f"head {layer}:{head}": [first["relative"][layer][head]] for layer, head in first["agreeing"]}
        lines = [
            [title, *(f"{np.mean([head.get(tag, np.nan) for head in heads]):.2f}" for tag in TAGS)]
            for title, heads in groups.items()
        ]
        parts += [
            f"{name}, seed {first['seed']}; the paper: {PUBLISHED[name]}",
            markdown(["attention of", *TAGS], lines),
        ]
        by_seed = [[head for layer in row["relative"] for head in layer] for row in own]
        opinion = [sum(all(head.get(tag, 0) > 1 for tag in OPINION) for head in heads) for heads in by_seed]
        # Among the frequent tags; a few interjections would often be the highest.
        highest = [[max(TAGS, key=lambda tag: head.get(tag, 0)) for head in heads] for heads in by_seed]
        summary.append([
            name, str(len(own)), f"{spread(np.array(opinion))} of {len(by_seed[0])}",
            spread(np.array([tags.count("PUNCT") for tags in highest])),
        ])  # fmt: skip
    head = ("set", "seeds", "heads with ADJ, ADV and VERB above their mean", "with PUNCT highest")
    return "\n\n".join([*parts, markdown(head, summary)])


def pictures(rows: list[Row], folder: Path) -> Iterator[str]:
    """Figures 5 to 7 for each set: the two heads of the first seed that agree most with the gradient."""
    for name, row in first_seed_rows(rows).items():
        save(partial(draw_heads, row=row), folder / f"pos-{name}")
        yield f"pos-{name}"


def draw_heads(axes, row: Row) -> None:
    """Draws the two heads of a row into axes, a bar for each tag."""
    heads = {
        named((layer, head)): [row["relative"][layer][head].get(tag, np.nan) for tag in TAGS]
        for layer, head in row["agreeing"]
    }
    bars(axes, TAGS, heads, f"{row['set']}: attention by part of speech")


TABLE = Table(
    name="attentionmix-figures",
    paper="Lewy and Mańdziuk, AttentionMix, 2023, arXiv:2309.11104",
    published=PUBLISHED,
    cell=Cell,
    keys=("accuracy", "relative", "agreeing"),
    cells=every_set_and_seed,
    run=run,
    report=report,
    pictures=pictures,
)
