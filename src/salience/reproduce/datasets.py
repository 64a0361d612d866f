"""The data sets of the papers, from a folder with one folder a set, or from the hub."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from salience.data.datasets import DataSet, Split
from salience.data.reading import stream
from salience.data.tables import hub_rows, hub_splits
from salience.errors import InputError, listed, quoted, unknown


@dataclass(frozen=True)
class Source:
    """Where a set lies and how it is split.

    `sizes` are of training, validation and test, drawn anew from all rows together; without them the set's own parts
    are taken, and validation is `held_out` of the training rows where there is no part for it. On the hub some sets
    have other rows, or are parted otherwise: IMDB and AG News are whole there, and SST-1 has no labels of words.
    """

    folder: str
    hub: str
    labels: tuple[str, ...]  # in the order of their numbers; of two the second is the positive one
    hub_label: str = "label"  # the column that says them there, as text or as a number with a name
    sizes: tuple[int, int, int] | None = None
    held_out: float = 0.1
    tokenised: bool = False  # words stand between spaces already


SOURCES = {
    "sst2": Source("sst2", "SetFit/sst2", ("negative", "positive"), "label_text", tokenised=True),
    "imdb": Source("imdb", "stanfordnlp/imdb", ("negative", "positive"), held_out=0.2),
    "20news-1": Source(
        "20news_sports", "SetFit/20_newsgroups", ("rec.sport.baseball", "rec.sport.hockey"), "label_text",
        sizes=(1236, 310, 387),
    ),
    "20news-2": Source(
        "20news_moto_med_guns", "SetFit/20_newsgroups", ("rec.motorcycles", "sci.med", "talk.politics.guns"),
        "label_text", sizes=(2300, 240, 274),
    ),
    "trec": Source(
        "trec", "SetFit/TREC-QC", ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"), "label_coarse_original",
        held_out=452 / 5452, tokenised=True,
    ),
    # SST-1 as trees: the same texts and splits, with the sentiment of every word.
    "sst5": Source(
        "sst_trees", "SetFit/sst5", ("very negative", "negative", "neutral", "positive", "very positive"),
        "label_text", tokenised=True,
    ),
    "subj": Source("subj", "SetFit/subj", ("objective", "subjective"), "label_text", tokenised=True),
    "mr": Source("mr", "cornell-movie-review-data/rotten_tomatoes", ("negative", "positive"), tokenised=True),
    "ag_news": Source("ag_news", "fancyzhx/ag_news", ("World", "Sports", "Business", "Sci/Tech")),
}  # fmt: skip


def load(name: str, data_dir: Path | None, seed: int = 0) -> DataSet:
    """A set with its three parts; what is drawn is the same for the same seed.

    Raises:
        InputError: it is not there; names the place.
    """
    if name not in SOURCES:
        raise unknown("data set", name, SOURCES)
    source = SOURCES[name]
    parts = {part: rows(source, part, data_dir) for part in ("train", "dev", "test")}
    random = np.random.default_rng(seed)
    if source.sizes is not None:
        everything = [row for part in parts.values() for row in part]
        order = random.permutation(len(everything))
        bounds = np.cumsum([0, *source.sizes])
        training, validation, test = (
            [everything[index] for index in order[start:stop]] for start, stop in pairwise(bounds)
        )
    else:
        training, validation, test = parts["train"], parts["dev"], parts["test"]
        if not validation:
            order = random.permutation(len(training))
            held = round(source.held_out * len(training))
            validation, training = [training[i] for i in order[:held]], [training[i] for i in order[held:]]
    split = [as_split(part, source.labels) for part in (training, validation, test)]
    return DataSet(name, source.labels, *split, source.tokenised)


def rows(source: Source, part: str, data_dir: Path | None) -> list[dict]:
    """The rows of one part, none where the set has no such part."""
    if data_dir is not None:
        file = data_dir / source.folder / f"{part}.jsonl.gz"
        if file.is_file():
            return [check(row, source, f"{file}: row {number}") for number, row in enumerate(stream(str(file)), 1)]
        if part == "dev":
            return []
        raise InputError(f"no data set at {file}: --data-dir is a folder with {source.folder}/{part}.jsonl.gz in it")
    try:
        return list(rows_of_hub(source, part))
    except InputError as error:
        raise InputError(f"{error}; --data-dir names a folder with {source.folder}/{part}.jsonl.gz in it") from error


def rows_of_hub(source: Source, part: str) -> Iterator[dict]:
    """As `rows`, from the hub; of a set that is drawn from a larger one, its own classes."""
    if part == "dev":
        part = "validation"
        if part not in hub_splits(source.hub):
            return
    for number, row in enumerate(hub_rows(source.hub, part), 1):
        name = str(row.get(source.hub_label))
        label = next((own for own in source.labels if name and own.startswith(name)), name)  # "pos" for "positive"
        if source.sizes is None:
            yield check({"text": row["text"], "label": label}, source, f"{source.hub}, {part}: row {number}")
        elif label in source.labels and row["text"].strip():
            yield {"text": row["text"], "label": label}


def check(row: dict, source: Source, place: str) -> dict:
    """The row, if it has a text and a label that the set has.

    Raises:
        InputError: it has not; names the place.
    """
    if not {"text", "label"} <= row.keys():
        raise InputError(f"{place} has the columns {listed(row)}, but needs text and label")
    if row["label"] not in source.labels:
        raise InputError(f"{place}: unknown label {quoted(row['label'])}; known: {listed(source.labels)}")
    return row


def as_split(part: list[dict], labels: tuple[str, ...]) -> Split:
    words = [row["token_labels"] for row in part] if part and "token_labels" in part[0] else None
    return Split([row["text"] for row in part], [labels.index(row["label"]) for row in part], words)
