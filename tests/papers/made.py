"""Made-up data sets of the papers, and the lines of the tables that they print."""

import gzip
import json

import numpy as np

GOOD, BAD, PLAIN = ("lovely", "great"), ("dull", "awful"), ("film", "plot", "cast", "scene", "story")


def write(folder, part: str, rows: list[dict]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / f"{part}.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def rows(count: int, seed: int) -> list[dict]:
    """Texts of six words of which one decides, with its sentiment marked."""
    random, found = np.random.default_rng(seed), []
    for number in range(count):
        words = list(random.choice(PLAIN, 6))
        kind = ("very negative", "negative", "neutral", "positive", "very positive")[number % 5]
        marks = ["neutral"] * 6
        if kind != "neutral":
            place = int(random.integers(6))
            words[place] = str(random.choice(GOOD if kind.endswith("positive") else BAD))
            marks[place] = kind.split()[-1]
        found.append({"text": " ".join(words), "label": kind, "token_labels": marks})
    return found


def cells_of(line: str) -> list[str]:
    """The cells of a line of a markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def lines_of(text: str, *begin: str) -> list[list[str]]:
    """The lines of tables whose first cells are these."""
    lines = [cells_of(line) for line in text.splitlines() if line.startswith("|")]
    return [cells for cells in lines if cells[: len(begin)] == list(begin)]
