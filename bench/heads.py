"""Is the head that AttentionMix chooses by itself better than a random head, or than the layer's mean?

    python bench/heads.py --data-dir DATA --results results/heads.jsonl

200 rows of each set, five seeds (of rows, split, head of the classifier and all that is drawn); AttentionMix on
mixtures only, as its paper trains, at the word rows. Guides: "auto" (`head="auto"`); "mean" of the heads of layer 0;
"random", a head drawn anew for every seed; and plain training beside them. The rows that are not drawn are tested on
with those of the test file, at most 2,000. A run is a line in the results file and is not run again. At the end: means
over seeds, and the differences to "auto" with a 95 % interval (t, paired by seed).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from runs import drawn, make_missing, measured, read
from salience.comparison.statistics import difference
from salience.reproduce.results import Results

SETS = ("trec", "mr", "subj")
GUIDES = ("auto", "random", "mean", "plain")
ROWS, MOST_TESTED = 200, 2000
LAYERS, HEADS = 6, 12  # of MiniLM


def settings(guide: str, seed: int) -> dict:
    """The part of the recipe that a guide stands for."""
    if guide == "plain":
        return {"method": "plain"}
    options = {"auto": {"head": "auto"}, "mean": {"layer": 0}}
    place = int(np.random.default_rng(seed).integers(LAYERS * HEADS))
    options["random"] = {"layer": place // HEADS, "head": place % HEADS}
    return {"method": "attentionmix", "clean": 0.0, "method_options": options[guide]}


def run(name: str, seed: int, guide: str, data_dir: Path) -> dict:
    rows, left = drawn(read(data_dir / name / "train.jsonl.gz"), ROWS, seed)
    file = data_dir / name / "test.jsonl.gz"
    test = ((read(file) if file.exists() else []) + left)[:MOST_TESTED]
    found = measured(rows, test, seed=seed, **settings(guide, seed))
    chosen = next((note for note in found.pop("notes") if note.startswith("AttentionMix is guided")), None)
    return {"set": name, "seed": seed, "guide": guide, "options": settings(guide, seed), "chosen": chosen} | found


def summary(found: list[dict]) -> None:
    """Means, and what "auto" is better by than each other guide, over the seeds that both were run with."""
    for name in SETS:
        by = {(row["guide"], row["seed"]): 100 * row["accuracy"] for row in found if row["set"] == name}
        for guide in GUIDES[1:]:
            seeds = sorted(seed for own, seed in by if own == guide and ("auto", seed) in by)
            if len(seeds) < 2:
                continue
            auto, other = (np.array([by[own, seed] for seed in seeds]) for own in ("auto", guide))
            print(
                f"{name}, {len(seeds)} seeds: auto {auto.mean():.2f}, {guide} {other.mean():.2f}, "
                f"difference {difference(auto, other)}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--results", type=Path, default=Path("results/heads.jsonl"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--guides", nargs="+", choices=GUIDES, default=list(GUIDES))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    results = Results(options.results)
    cells = (
        {"set": name, "seed": seed, "guide": guide}
        for seed in options.seeds for name in options.sets for guide in options.guides
    )  # fmt: skip
    make_missing(results, cells, lambda cell: run(*cell.values(), options.data_dir))
    summary(results.rows())


if __name__ == "__main__":
    main()
