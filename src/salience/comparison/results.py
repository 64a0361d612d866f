"""The result of a comparison: the scores of every method, and their differences from the baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from salience.comparison.kept_runs import SCORES
from salience.comparison.statistics import Difference, difference

IN_PERCENT = {"accuracy": 100, "macro_f1": 100}


@dataclass(frozen=True)
class Comparison:
    """The scores of every method for every seed, and their differences from the first method, the baseline.

    Accuracy and macro-F1 are in percent, and so are their differences.

    Attributes:
        seeds: the seeds (S,).
        rows: number of test rows.
        scores: method to score to values (S,).
        differences: method to score to difference from the baseline, paired by seed. The baseline has none.
        by_rows: method to half the width of the 95 % interval over test rows of its difference in accuracy: how much
            the difference might change on other test rows of this number.
    """

    seeds: list[int]
    rows: int
    scores: dict[str, dict[str, list[float]]]
    differences: dict[str, dict[str, Difference]]
    by_rows: dict[str, float]

    @property
    def baseline(self) -> str:
        """The first method."""
        return next(iter(self.scores))

    def verdict(self, method: str) -> str:
        """One line on whether the accuracy differs from the baseline's by more than seeds and test rows explain."""
        accuracy = self.differences[method]["accuracy"]
        if accuracy.low is None:
            return f"{method}: the same difference to {self.baseline} with every seed, so no interval can be computed"
        if not (accuracy.beyond_chance and abs(accuracy.mean) > self.by_rows[method]):
            return f"{method}: no difference to {self.baseline} beyond chance"
        return f"{method}: {'better' if accuracy.mean > 0 else 'worse'} than {self.baseline} beyond chance"


def comparison_of(runs: dict[tuple[str, int], dict], methods: list[str], seeds: list[int]) -> Comparison:
    """The comparison of all runs. The values of each method are paired with those of the first one by seed.

    Args:
        runs: (method, seed) to its results, as `read_run` gives them.
        methods: the methods, the baseline first.
        seeds: the seeds.
    """
    scores = {
        method: {
            score: [IN_PERCENT.get(score, 1) * runs[method, seed]["metrics"]["test"][score] for seed in seeds]
            for score in SCORES
        }
        for method in methods
    }
    baseline, compared = methods[0], methods[1:]
    right = {method: np.mean([runs[method, seed]["right"] for seed in seeds], axis=0) for method in methods}
    rows = len(right[baseline])
    widths = norm.ppf(1 - 0.025 / len(compared))  # half the width of an interval, in standard errors
    return Comparison(
        seeds,
        rows,
        scores,
        {
            method: {
                score: difference(scores[method][score], scores[baseline][score], len(compared)) for score in SCORES
            }
            for method in compared
        },
        {method: 100 * float(widths * (right[method] - right[baseline]).std() / rows**0.5) for method in compared},
    )
