"""A small labelled data set that a tiny model learns, and the command line in a process of its own."""

from __future__ import annotations

import csv
import io
import json
import multiprocessing
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from salience.cli.main import main
from salience.files import files_in
from salience.training import callbacks as resuming
from salience.training.recipe import Plan, Recipe

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


def planned(recipe: Recipe) -> Plan:
    """What a recipe uses to train a model over words, which is given, on 20 rows of three labels."""
    return recipe.resolved(20, 3, None, pooling="cls", head_start="random", max_length=100)


def rows_of_several(count: int, seed: int) -> list[tuple[str, str]]:
    """Texts with words of each of their labels, which are a list in JSON."""
    draw, rows = random.Random(seed), []
    for _ in range(count):
        labels = [label for label in WORDS if draw.random() < 0.4]
        words = draw.choices(FILLER, k=3) + [
            word for each in labels for word in draw.choices(WORDS[each].split(), k=2)
        ]
        draw.shuffle(words)
        rows.append((" ".join(words), json.dumps(labels)))
    return rows


def write_csv(file: Path, rows, header=("text", "label")) -> Path:
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([header, *rows])
    return file


# What every run imports is imported once, by a process that the runs are forked from.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["salience.report.terminal", "salience.cli.train", "salience.training.run"])


def started(*arguments, log: Path):
    """The command line as a process of its own, which can be killed; what it says is written to `log`.

    It writes a checkpoint after every step of training.
    """
    process = FORKS.Process(target=run_command, args=([str(argument) for argument in arguments], str(log)))
    process.start()
    return process


def untimed(folder: Path, without: Sequence[str] = ("seconds",)) -> dict[str, object]:
    """Every file below a folder, without what differs between two runs of one recipe: how long they took.

    Args:
        without: keys of metrics.json that are left out.
    """
    found: dict[str, object] = {}
    for name in files_in(folder):
        data = (folder / name).read_bytes()
        if name.endswith("metrics.json"):
            found[name] = {key: value for key, value in json.loads(data).items() if key not in without}
        elif name.endswith("comparison.json"):
            found[name] = json.loads(data)
            for results in found[name]["conditions"]:
                for scores in results["scores"].values():
                    del scores["seconds"]
        elif name.endswith("results.csv"):
            found[name] = [
                {key: value for key, value in row.items() if key != "seconds"}
                for row in csv.DictReader(io.StringIO(data.decode()))
            ]
        elif name.endswith(("report.html", "report.md")):
            found[name] = "a report"  # times are all over it, and the values are those of comparison.json
        else:
            found[name] = data
    return found


def run_command(arguments: list[str], log: str) -> None:
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, sys.stdout.fileno())
    os.dup2(file, sys.stderr.fileno())
    torch.set_num_threads(1)
    resuming.SECONDS = 0
    sys.exit(main(arguments))
