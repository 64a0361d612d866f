"""The table of results/faithful-training.jsonl: are explanations of classifiers trained on mixtures more faithful?

    python bench/faithful_training.py results/faithful-training.jsonl

An earlier version of the study made the file, on the test files of the data sets. `bench/study.py faithful-training`
runs it on development sets. MiniLM was trained in six ways with the default recipe on 400 rows, with 100 others for
validation. Each model judged its own explanations of 200 test texts. A reported number is the excess over random
scores of the same model. VAT changes the classifier as well as the training: attention over MiniLM's words and a
perceptron. The same classifier without turns, ATT, separates the two effects.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from salience.comparison.variation import difference, spread

SETS = ("sst2", "trec")
TRAININGS = ("plain", "ssmix", "attentionmix", "dropmix-g", "att", "vat")
EXPLAINED = ("gradient", "gradient-x-input", "integrated-gradients")
METRICS = ("AOPC@5", "AOPC over K", "post-hoc@5", "tau")


def report(rows: list[dict]) -> str:
    """Accuracies and metrics with the seeds that all trainings have.

    The column of plain training is the mean excess over random scores (for accuracy, the mean). The others are
    differences to it, and the last one is VAT's difference to ATT. Differences are paired by seed.
    """
    columns = ("set", "explainer", "metric", "seeds", *TRAININGS, "vat - att")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name in SETS:
        runs = {(row["training"], row["seed"]): row for row in rows if row["set"] == name}
        seeds = sorted({seed for _, seed in runs if all((training, seed) in runs for training in TRAININGS)})
        if not seeds:
            continue
        accuracies = {training: [100 * runs[training, seed]["accuracy"] for seed in seeds] for training in TRAININGS}
        lines.append(f"| {name} | | accuracy | {len(seeds)} | {against_plain(accuracies)} |")
        for explainer in EXPLAINED:
            for metric in METRICS:
                excess = {
                    training: [
                        run["explainers"][explainer][metric] - run["random"][metric]
                        for run in (runs[training, seed] for seed in seeds)
                    ]
                    for training in TRAININGS
                }
                lines.append(f"| {name} | {explainer} | {metric} | {len(seeds)} | {against_plain(excess)} |")
    return "\n".join(lines)


def against_plain(values: dict[str, list[float]]) -> str:
    """The cells of a line of the report.

    Args:
        values: By training, a value for every seed.
    """
    arrays = {name: np.array(value) for name, value in values.items()}
    plain = arrays.pop("plain")
    vat_to_att = difference(arrays["vat"], arrays["att"])
    return " | ".join([spread(plain), *(str(difference(array, plain)) for array in arrays.values()), str(vat_to_att)])


def main() -> None:
    """Prints the table of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    lines = parser.parse_args().results.read_text(encoding="utf-8").splitlines()
    print(report([json.loads(line) for line in lines]))


if __name__ == "__main__":
    main()
