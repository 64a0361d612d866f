"""From how many rows on a class should have a threshold of its own: coverage by made-up, calibrated classifiers.

    python bench/own_thresholds.py

A threshold of its own gives a class the target precision. It also divides the rows and the certainty, so that fewer
texts are decided. Class y of a text is drawn first; its scores are normal, with a mean that makes the classifier right
as often as is wanted, and the probabilities are the true ones. The estimate's rows choose the thresholds, 20,000 new
rows measure them. The table has the mean coverage over draws, and the share of draws in which nothing is decided.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax

from salience.scores import thresholds

NEW = 20_000


def drawn(rows: int, classes: int, distance: float, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities (rows, classes) and labels (rows,): one score of each text is raised, that of its class."""
    labels = generator.integers(0, classes, rows)
    scores = generator.normal(size=(rows, classes))
    scores[np.arange(rows), labels] += distance
    return softmax(distance * scores, axis=1), labels


def distance_of(accuracy: float, classes: int) -> float:
    """The distance of `drawn` that makes the most probable class right this often, in 200,000 texts."""

    def missing(distance: float) -> float:
        probabilities, labels = drawn(200_000, classes, distance, np.random.default_rng(0))
        return float((probabilities.argmax(1) == labels).mean()) - accuracy

    return brentq(missing, 0.1, 8.0, xtol=1e-3)


def coverages(rows: int, classes: int, distance: float, target: float, draws: int) -> np.ndarray:
    """The share of new texts that are decided (draws,)."""
    new = drawn(NEW, classes, distance, np.random.default_rng(1))[0]
    found = []
    for seed in range(draws):
        own = thresholds.find_thresholds(*drawn(rows, classes, distance, np.random.default_rng([2, seed])), target)
        found.append((new.max(1) > own[new.argmax(1)]).mean())
    return np.array(found)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--multiples", nargs="+", type=int, default=[5, 10, 20, 40], help="of the rows a test needs")
    parser.add_argument("--rows", nargs="+", type=int, default=[200, 500, 2000])
    parser.add_argument("--targets", nargs="+", type=float, default=[0.8, 0.9, 0.95])
    parser.add_argument("--accuracies", nargs="+", type=float, default=[0.8, 0.885])
    parser.add_argument("--classes", nargs="+", type=int, default=[2, 6])
    parser.add_argument("--draws", type=int, default=60)
    options = parser.parse_args()
    print("| classes | accuracy | rows | target |", " | ".join(map(str, options.multiples)), "|")
    print("|---" * (4 + len(options.multiples)) + "|")
    for classes in options.classes:
        for accuracy in options.accuracies:
            distance = distance_of(accuracy, classes)
            for rows in options.rows:
                for target in options.targets:
                    cells = []
                    for multiple in options.multiples:
                        thresholds.OWN = multiple
                        found = coverages(rows, classes, distance, target, options.draws)
                        cells.append(f"{found.mean():.2f}, {(found == 0).mean():.2f}")
                    print(f"| {classes} | {accuracy} | {rows} | {target} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
