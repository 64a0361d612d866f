"""A small labelled data set that a tiny model learns, and the command line in a process of its own."""

from __future__ import annotations

import csv
import random
import subprocess
import sys
from pathlib import Path

WORDS = {
    "sport": "goal match team win cup",
    "music": "song band guitar album tune",
    "food": "soup bread salt cook oven",
}
FILLER = ["the", "a", "one", "some", "this", "that", "very", "quite", "new", "old"]


def labelled_rows(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Texts of a few words, one or two of which belong to the label."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        label = list(WORDS)[number % len(WORDS)]
        words = draw.choices(FILLER, k=draw.randint(2, 9)) + draw.choices(WORDS[label].split(), k=draw.randint(1, 2))
        draw.shuffle(words)
        rows.append((" ".join(words), label))
    return rows


def write_csv(file: Path, rows, header=("text", "label")) -> Path:
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([header, *rows])
    return file


def started(*arguments, **options) -> subprocess.Popen:
    """The command line as a process, which can be killed."""
    return subprocess.Popen(
        [sys.executable, "-m", "salience", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, **options,
    )  # fmt: skip
