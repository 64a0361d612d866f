"""Learning curves of strategies that suggest which texts to label next, where a text can have several labels.

    python bench/suggest_labels.py --data-dir DATA [--sets trec ag_news reuters] [--seeds 10] [--pool 1500]

Reuters is a real set (`bench/reuters.py`). The others are constructed: texts of one or two joined rows
(`bench/joined_labels.py`). As in `bench/suggest.py`, a seed draws the first 50 texts at random, and in every round a
strategy chooses 50 more by what a classifier says that is trained on the labelled ones, up to 250. The classifier is a
logistic regression for each label on the vectors of the frozen encoder. The uncertainty of a text is made of the
entropies of its C binary decisions: their mean, or their maximum, which is that of the decision nearest to 0.5
(binary minimum; Brinker, 2006, doi 10.1007/3-540-31314-1_24). "+clusters" takes the text nearest to each center of a
weighted k-means of the 10 times as many most uncertain texts. "facility location" is what `salience suggest` does.

For each strategy it prints the mean over all rounds after the first of the ranking precision and of micro-F1 at 0.5 on
500 test texts, in percent, and the difference from random choice with its 95 % interval over seeds. Of several sets it
prints the difference on all of them, and on all but the one whose absence leaves the lowest interval, as
`bench/suggest.py` does.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from development import development_set, joined, rows_of
from not_offered.uncertain_clusters import FACTOR, nearest_to_centers
from salience.classify.frozen_encoder import load_frozen
from salience.comparison.interval import paired_interval
from salience.comparison.variation import difference
from salience.scores.labels import SEVERAL_LABELS
from salience.suggestions.strategies import facilities, highest, label_entropies
from salience.training.baselines import regression_probabilities
from suggest import shown, without_one_set

START, STEP, STOP, TESTED = 50, 50, 250, 500
SCORES = ("ranking_precision", "micro_f1")
# (probabilities (N, C), vectors (N, D), count, generator, vectors of labelled texts) -> places of the texts to label
Rule = Callable[[np.ndarray, np.ndarray, int, np.random.Generator, np.ndarray], np.ndarray]


def random(
    probabilities: np.ndarray, vectors: np.ndarray, count: int, generator: np.random.Generator, labelled: np.ndarray
) -> np.ndarray:
    """Texts drawn uniformly."""
    return generator.permutation(len(probabilities))[:count]


def uncertain(
    probabilities: np.ndarray, vectors: np.ndarray, count: int, generator: np.random.Generator, labelled: np.ndarray,
    of_labels: Callable, clusters: bool,
) -> np.ndarray:  # fmt: skip
    """The texts with the highest entropies, or one of each cluster of these.

    Args:
        of_labels: the uncertainty of a text (N,) from the entropies of its labels (N, C).
        clusters: whether one text of each cluster is chosen.
    """
    uncertainty = of_labels(label_entropies(probabilities))
    if not clusters:
        return highest(uncertainty, count)
    kept = highest(uncertainty, FACTOR * count)
    return kept[nearest_to_centers(vectors[kept], uncertainty[kept], count, generator)]


def mean_of(entropies: np.ndarray) -> np.ndarray:
    """Their mean over labels (N,)."""
    return entropies.mean(1)


def largest_of(entropies: np.ndarray) -> np.ndarray:
    """The largest over labels (N,)."""
    return entropies.max(1)


def by_facility_location(
    probabilities: np.ndarray, vectors: np.ndarray, count: int, generator: np.random.Generator, labelled: np.ndarray
) -> np.ndarray:
    """What `salience suggest` does: facility location, weighted by the mean entropy."""
    return facilities(vectors, labelled, label_entropies(probabilities).mean(1), count, generator)


RULES: dict[str, Rule] = {
    "random": random,
    "mean entropy": partial(uncertain, of_labels=mean_of, clusters=False),
    "maximum entropy": partial(uncertain, of_labels=largest_of, clusters=False),
    "mean entropy+clusters": partial(uncertain, of_labels=mean_of, clusters=True),
    "maximum entropy+clusters": partial(uncertain, of_labels=largest_of, clusters=True),
    "facility location": by_facility_location,
}


def curve(
    rule: Rule, seed: int, vectors: tuple[np.ndarray, np.ndarray], labels: tuple[np.ndarray, np.ndarray]
) -> list[float]:
    """The means over the rounds after the first of `SCORES`, in percent.

    Args:
        rule: the strategy.
        seed: of the first texts, which are the same for all strategies, and of the draws of a strategy.
        vectors, labels: of the pool and of the test texts.
    """
    labelled = np.random.default_rng(seed).permutation(len(labels[0]))[:START]
    generator, every, rounds = np.random.default_rng([seed, 1]), np.concatenate(vectors), []
    while True:
        found = regression_probabilities(vectors[0][labelled], labels[0][labelled], every, labels[0].shape[1])
        scores = SEVERAL_LABELS.scores(found[len(labels[0]) :], labels[1])
        rounds.append([100 * scores[name] for name in SCORES])
        if len(labelled) >= min(STOP, len(labels[0])):
            return np.mean(rounds[1:], axis=0).tolist()
        rest = np.setdiff1d(np.arange(len(labels[0])), labelled)
        chosen = rule(found[rest], vectors[0][rest], STEP, generator, vectors[0][labelled])
        labelled = np.concatenate([labelled, rest[chosen]])


def several_labels(rows: list[dict], count: int) -> list[dict]:
    """Texts with lists of labels: those of the rows, if they have lists, or texts of one or two joined rows."""
    if not rows[0]["label"].startswith("["):
        return joined(rows, count, 0)
    return [row | {"label": json.loads(row["label"])} for row in rows[:count]]


def main() -> None:
    """Prints a table for each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=["trec", "ag_news"], help="sets of bench/development.py")
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds")
    parser.add_argument("--pool", type=int, default=1500, help="texts to choose from")
    options = parser.parse_args()
    encoder = load_frozen(precision="fp32")
    gained: dict[str, list[np.ndarray]] = {rule: [] for rule in RULES if rule != "random"}
    for name in options.sets:
        with TemporaryDirectory() as place:
            files = development_set(name, options.data_dir, Path(place))
            parts = [several_labels(rows_of(files[role]), count) for role, count in
                     (("data", options.pool), ("test", TESTED))]  # fmt: skip
        names = sorted({label for row in parts[0] for label in row["label"]})
        labels = tuple(np.array([[each in row["label"] for each in names] for row in rows], int) for rows in parts)
        vectors = tuple(encoder.vectors([row["text"] for row in rows]) for rows in parts)
        found = {
            rule: np.array([curve(of, seed, vectors, labels) for seed in range(options.seeds)])
            for rule, of in RULES.items()
        }
        print(f"{name}: {len(parts[0]):,} texts to choose from, {options.seeds} seeds; {' and '.join(SCORES)}")
        for rule, values in found.items():
            gains = [str(difference(values[:, each], found["random"][:, each])) for each in range(len(SCORES))]
            means = ", ".join(f"{value:.2f}" for value in values.mean(0))
            print(f"  {rule:26} {means}" + ("" if rule == "random" else f"   {gains[0]}   {gains[1]}"))
        for rule in gained:
            gained[rule].append(found[rule] - found["random"])
    print(f"mean on {len(options.sets)} sets, and without one set; {' and '.join(SCORES)}")
    for rule, of_sets in gained.items():
        of_scores = [[values[:, each] for values in of_sets] for each in range(len(SCORES))]
        cells = [
            f"{shown(paired_interval(values, over_sets=False, comparisons=len(gained)))}, "
            f"{without_one_set(values, len(gained))}"
            for values in of_scores
        ]
        print(f"  {rule:26} {'   '.join(cells)}")


if __name__ == "__main__":
    main()
