"""A small labelled data set, a tiny model for it, and the command line as a user meets it."""

from __future__ import annotations

import csv
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import families
from salience.cli.main import main

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


@dataclass(frozen=True)
class Place:
    """A folder with data and a model in it."""

    folder: Path
    data: Path
    test: Path
    model: Path

    def train(self, *options: str, data: Path | None = None) -> list[str]:
        """The arguments of a run of a second or two."""
        return ["train", str(data or self.data), "--model", str(self.model), "--steps", "6", "--evaluations", "3",
                "--device", "cpu", *map(str, options)]  # fmt: skip


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Place:
    folder = tmp_path_factory.mktemp("place")
    texts = [*WORDS.values(), " ".join(FILLER)]
    return Place(
        folder,
        write_csv(folder / "train.csv", labelled_rows(60)),
        write_csv(folder / "test.csv", labelled_rows(30, seed=1)),
        families.save_tiny_model(folder / "tiny", texts, classes=2, dropout=0.1),
    )


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def salience(capsys):
    """Runs a command in this process and gives its exit code and all that it printed."""

    def run(*arguments) -> Answer:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Answer(code, printed.out, printed.err)

    return run


def started(*arguments, **options) -> subprocess.Popen:
    """The same in a process of its own, which can be killed."""
    return subprocess.Popen(
        [sys.executable, "-m", "salience", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, **options,
    )  # fmt: skip
