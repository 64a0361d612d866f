"""Which states tell texts of other sets from those like the training rows: the share of each that is called unlike.

    python bench/familiarity.py --data-dir DATA --sizes 100 500 --seeds 0 1 2

A run of the default recipe is trained on rows of a development set. Of its own test rows, and of those of the other
sets, it is counted how many have a familiarity of at most 0.05, by the states of each layer of the trained encoder,
by the vectors of the untrained one, and by the highest probability, whose level is set by half of the own test rows.
Every run is a line of OUTPUT, and is not made again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from development import development_set, drawn, rows_of, write_csv
from salience.classify import TextClassifier
from salience.classify.familiarity import UNFAMILIAR, Familiarity, distances_to, vectors_at
from salience.classify.frozen_encoder import load_frozen
from salience.data.splitting import group_numbers
from salience.data.texts import Texts
from salience.hooks.stages import depth
from salience.training.recipe import Recipe
from salience.training.run import train

SETS = ("trec", "banking20", "ag_news", "sst2", "subj", "20news")
TESTED, LENGTH = 100, 64  # rows of each set, and tokens that are read of them
ODD = "odd texts"
# Texts that people send to any service, and ones that no person has written.
ODD_TEXTS = [
    "asdf jkl qwer", "lorem ipsum dolor sit amet", "¿A qué hora abren?", "Was kostet das?", "12345", "!!!",
    "what time do you open?", "thanks", "ok", "hello there", "Sehr geehrte Damen und Herren, ich kündige",
    "SELECT * FROM users;", "http://example.com/x?y=1",
]  # fmt: skip


def main() -> None:
    """Trains what is missing and prints the means over sets, sizes and seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 500])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--trained-layers", default="all", help="as of salience train")
    parser.add_argument("--output", type=Path, default=Path("results/studies/familiarity.jsonl"))
    options = parser.parse_args()
    trained = options.trained_layers if options.trained_layers == "all" else int(options.trained_layers)
    done = pd.read_json(options.output, lines=True) if options.output.exists() else pd.DataFrame()
    keys = {tuple(row) for row in done[["set", "size", "seed", "trained"]].astype(str).to_numpy()} if len(done) else ()
    with TemporaryDirectory() as folder:
        place = Path(folder)
        files = {name: development_set(name, options.data_dir, place) for name in SETS}
        tests = {name: [row["text"] for row in rows_of(file["test"])][:TESTED] for name, file in files.items()}
        for size in options.sizes:
            for seed in options.seeds:
                for name in options.sets:
                    key = {"set": name, "size": size, "seed": seed, "trained": str(trained)}
                    if tuple(map(str, key.values())) in keys:
                        continue
                    rows, _ = drawn(rows_of(files[name]["data"]), size, seed)
                    write_csv(place / "rows.csv", rows)
                    recipe = Recipe(
                        str(place / "rows.csv"), seed=seed, precision="fp32", trained_layers=trained, max_length=LENGTH
                    )
                    run = train(recipe, place / "run", overwrite=True, estimating=False, note=lambda line: None)
                    others = {other: texts for other, texts in tests.items() if other != name} | {ODD: ODD_TEXTS}
                    found = told(run.classifier, [row["text"] for row in rows], tests[name], others)
                    with options.output.open("a", encoding="utf-8") as lines:
                        for way, numbers in found.items():
                            lines.write(json.dumps(key | {"way": way} | numbers) + "\n")
    rows = pd.read_json(options.output, lines=True)
    means = rows.groupby(["trained", "size", "way"], sort=False)[["own", "foreign", ODD, "auroc"]].mean()
    print(means.round({"own": 1, "foreign": 1, ODD: 1, "auroc": 3}).to_string())


def told(
    classifier: TextClassifier, training: list[str], own: list[str], others: Mapping[str, list[str]]
) -> dict[str, dict[str, float]]:
    """By the name of a way: the percentages of own, foreign and odd texts that it calls unlike, and the AUROC.

    The percentage of foreign texts is the mean over the sets, and the area under the ROC curve is that of all.
    """
    frozen = load_frozen(max_length=classifier.max_length)
    ways: dict[str, Callable[[list[str]], np.ndarray]] = {
        f"layer {layer}": lambda texts, layer=layer: vectors_at(classifier, classifier.read(texts), layer)
        for layer in range(2, depth(classifier.model) + 1)
    } | {"untrained, pooled": frozen.vectors}
    groups, found = group_numbers(Texts(training)), {}
    for way, vectors in ways.items():
        known = vectors(training)
        usual = distances_to(known, known, groups[:, None] == groups)
        familiarity = Familiarity(0, known, np.sort(usual))
        distances = {name: distances_to(known, vectors(texts)) for name, texts in {"own": own, **others}.items()}
        found[way] = numbers_of(familiarity, distances)
    doubts = {name: 1 - classifier.predict_proba(texts).max(1) for name, texts in {"own": own, **others}.items()}
    half = len(own) // 2
    by_doubt = Familiarity(0, np.empty((0, 0)), np.sort(doubts["own"][:half]))
    found["highest probability"] = numbers_of(by_doubt, doubts | {"own": doubts["own"][half:]})
    return found


def numbers_of(familiarity: Familiarity, distances: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The numbers of one way, from the distances of the texts of each set; those of "own" and `ODD` are apart."""
    low = {name: 100 * float((familiarity.shares(each) <= UNFAMILIAR).mean()) for name, each in distances.items()}
    foreign = {name: each for name, each in distances.items() if name not in ("own", ODD)}
    both = [distances["own"], np.concatenate(list(foreign.values()))]
    auroc = roc_auc_score(np.repeat([0, 1], list(map(len, both))), np.concatenate(both))
    mean = float(np.mean([low[name] for name in foreign]))
    return {"own": low["own"], "foreign": mean, ODD: low[ODD], "auroc": float(auroc)}


if __name__ == "__main__":
    main()
