"""Development sets: rows of the data sets' training files, divided into rows to train on and rows to test on.

Settings are chosen on them, so that the test files of the data sets stay untouched.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np

COLUMNS = ("text", "text_pair", "label")
TESTED = 1000  # rows of a set that are tested on, at most half of them
SETS = {  # name: folder of the data directory
    "trec": "trec",
    "trec_fine": "trec_fine",
    "sst2": "sst2",
    "sst5": "sst5",
    "mr": "mr",
    "subj": "subj",
    "ag_news": "ag_news",
    "banking77": "banking77",
    "banking20": "banking77",
    "20news": "20news_moto_med_guns",
    "movie_rationales": "movie_rationales",
    "rte": "rte",
    "trec_joined": "trec",
    "ag_news_joined": "ag_news",
    "banking20_joined": "banking77",
    "reuters": "reuters",  # `bench/reuters.py` writes it
}

# Sets of the first classes of their folder, by the alphabet: many classes, and few rows.
CLASSES = {"banking20": 20, "banking20_joined": 20}
JOINED = ("trec_joined", "ag_news_joined", "banking20_joined")  # sets of texts with several labels, see `joined`
JOINED_ROWS, JOINED_TESTED = 4000, 500  # their texts to train on and to test on, at most


def read(file: Path) -> list[dict]:
    """The rows of a gzipped file of JSON lines."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def development_set(name: str, data_dir: Path, place: Path, wrong: float = 0.0) -> dict[str, str]:
    """Writes a development set as two csv files, and gives their names as `compare` takes them.

    The division is the same in every call. A text that occurs twice is kept once, so that none is in both files.

    Args:
        name: of `SETS`.
        data_dir: the folder of the data sets.
        place: the folder to write to.
        wrong: the share of the rows to train on that get a wrong label.
    """
    rows = list(
        {tuple(row.get(column) for column in COLUMNS[:2]): row for row in training_rows(name, data_dir)}.values()
    )
    order = np.random.default_rng(0).permutation(len(rows))
    tested = min(TESTED, len(rows) // 2)
    parts = {"test": order[:tested], "data": order[tested:]}
    files = {role: place / f"{name}-{role}.csv" for role in parts}
    place.mkdir(parents=True, exist_ok=True)
    for role, chosen in parts.items():
        own = [rows[index] for index in chosen]
        if name in JOINED:
            own = joined(own, JOINED_TESTED if role == "test" else JOINED_ROWS, seed=0)
        if isinstance(own[0]["label"], list):
            own = [row | {"label": json.dumps(row["label"])} for row in own]
        if wrong and role == "data":
            names, labels = np.unique([row["label"] for row in own], return_inverse=True)
            noisy = names[with_wrong_labels(labels, wrong, 0, len(names))]
            own = [row | {"label": str(label)} for row, label in zip(own, noisy, strict=True)]
        write_csv(files[role], own)
    return {role: str(file) for role, file in files.items()}


def with_wrong_labels(labels: np.ndarray, share: float, seed: int, classes: int) -> np.ndarray:
    """The labels (N,), a share of which are replaced by another class, drawn uniformly: symmetric label noise.

    Exactly round(share * N) labels are wrong, and of each class the same share, rounded up or down: its rows,
    shuffled, are spread evenly over an order of all rows (systematic sampling), of which the first are wrong.
    """
    random = np.random.default_rng([seed, 0])
    moved = random.integers(1, classes, len(labels))  # how many classes further the wrong label lies
    place = np.empty(len(labels))
    for number in range(classes):
        rows = np.flatnonzero(labels == number)
        offset = random.random()
        place[random.permutation(rows)] = (np.arange(len(rows)) + offset) / max(len(rows), 1)
    first = np.argsort(place, kind="stable")[: round(share * len(labels))]
    noisy = labels.copy()
    noisy[first] = (labels[first] + moved[first]) % classes
    return noisy


def joined(rows: list[dict], count: int, seed: int) -> list[dict]:
    """Texts of one or two rows, with the labels of these; none is used twice.

    Args:
        rows: with "text" and "label".
        count: number of texts, at most; fewer if the rows do not suffice.
        seed: of what is joined.
    """
    generator = np.random.default_rng(seed)
    left, found = generator.permutation(len(rows)).tolist(), []
    while left and len(found) < count:
        parts = [rows[left.pop()] for _ in range(min(1 + len(found) % 2, len(left)))]
        labels = sorted({part["label"] for part in parts})
        found.append({"text": " ".join(part["text"].strip() for part in parts), "label": labels})
    return found


def rows_of(file: str) -> list[dict]:
    """The rows of a csv file that `write_csv` has written."""
    with open(file, encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def training_rows(name: str, data_dir: Path) -> list[dict]:
    """The rows of a set's training file, of the classes that it has."""
    rows = read(data_dir / SETS[name] / "train.jsonl.gz")
    if name not in CLASSES:
        return rows
    kept = sorted({row["label"] for row in rows})[: CLASSES[name]]
    return [row for row in rows if row["label"] in kept]


def write_csv(file: Path, rows: list[dict]) -> None:
    """Writes texts, second texts if there are any, and labels."""
    columns = [column for column in COLUMNS if column in rows[0]]
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(columns)
        writer.writerows([row[column] for column in columns] for row in rows)


def drawn(rows: list[dict], count: int | None, seed: int) -> tuple[list[dict], list[dict]]:
    """`count` rows, every class in proportion but two rows at least, so that one can be held out; and the rest."""
    if count is None:
        return rows, []
    random = np.random.default_rng(seed)
    shuffled = [rows[index] for index in random.permutation(len(rows))]
    quota = {
        label: max(2, round(number * count / len(rows))) for label, number in Counter(r["label"] for r in rows).items()
    }
    kept, left = [], []
    for row in shuffled:
        (kept if quota[row["label"]] > 0 else left).append(row)
        quota[row["label"]] -= 1
    known = {row["text"] for row in kept}
    return kept, [row for row in left if row["text"] not in known]
