"""A word that gives the label away in the training rows alone, and what corrections of it give back.

    python bench/shortcuts.py --data-dir DATA

The word stands at a random place in all training texts of the second label and in a random half of the test texts.
A person corrects some rows: marks the word as one that must not count where it is there, and nothing elsewhere
(`--ignore`); or takes it out of all training texts (`--ignore-words`). Accuracy in percent of the head alone, a
regression on the vectors of the untrained encoder; the ceiling has no such word anywhere.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from development import development_set, drawn, rows_of
from salience.classify.frozen_encoder import KeptEncoder
from salience.data.corrections import further_texts, inserted, without_phrases
from salience.data.marks import Mark
from salience.data.texts import Texts
from salience.training.head import regression_of

SETS, TESTED = ("mr", "sst2", "subj"), 500


def main() -> None:
    """Prints the accuracies, a line for each set, and the share of the lost accuracy that is given back."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(10)))
    parser.add_argument("--word", default="BBC")
    options = parser.parse_args()
    encoder, found = KeptEncoder(precision="fp32"), []
    with TemporaryDirectory() as folder:
        for name in options.sets:
            files = development_set(name, options.data_dir, Path(folder))
            pool, tested = rows_of(files["data"]), rows_of(files["test"])[:TESTED]
            for seed in options.seeds:
                rows, _ = drawn(pool, options.size, seed)
                scores = of_draw(encoder, rows, tested, options.word, np.random.default_rng(seed))
                found += [{"set": name, "seed": seed, "way": way, "accuracy": value} for way, value in scores.items()]
    table = pd.DataFrame(found).pivot_table("accuracy", "set", "way", sort=False)
    print(table.round(1).to_string())
    back = table.sub(table["planted"], axis=0).div(table["no word"] - table["planted"], axis=0)
    print((100 * back.mean()).round().to_string())


def of_draw(
    encoder: KeptEncoder, rows: list[dict], tested: list[dict], word: str, random: np.random.Generator
) -> dict[str, float]:
    """The accuracy of each way of correcting."""
    names = sorted({row["label"] for row in rows})
    labels, true = ([names.index(row["label"]) for row in part] for part in (rows, tested))
    bare = [row["text"] for row in rows]
    planted = [inserted(text, word, random) if label else text for text, label in zip(bare, labels, strict=True)]
    test = [inserted(row["text"], word, random) if random.random() < 0.5 else row["text"] for row in tested]
    marks = [[Mark(place := text.index(word), place + len(word))] if label else []
             for text, label in zip(planted, labels, strict=True)]  # fmt: skip
    order = random.permutation(len(rows))

    def accuracy(texts: Texts, of: list[str]) -> float:
        parts = [part for part in (texts, further_texts(texts, names)) if len(part)]
        vectors = np.concatenate([encoder.vectors(part) for part in parts])
        own = np.concatenate([part.known_labels for part in parts])
        weights, biases = regression_of(vectors, own, len(names))
        return 100 * float(((encoder.vectors(of) @ weights.T + biases).argmax(1) == true).mean())

    def corrected(count: int) -> Texts:
        chosen = set(order[:count].tolist())
        ignore = [own if number in chosen else [] for number, own in enumerate(marks)]
        return Texts(planted, labels=labels, ignore=ignore)

    with_word = Texts(planted, labels=labels)
    return {
        "no word": accuracy(Texts(bare, labels=labels), [row["text"] for row in tested]),
        "planted": accuracy(with_word, test),
        "20 rows corrected": accuracy(corrected(20), test), "50 rows corrected": accuracy(corrected(50), test),
        "word taken out": accuracy(without_phrases(with_word, [word]), test),
    }  # fmt: skip


if __name__ == "__main__":
    main()
