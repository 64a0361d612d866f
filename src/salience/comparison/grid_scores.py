"""The scores of all runs of a grid, and the differences of its methods from the baseline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from salience.comparison.grid import Condition, Grid, Run
from salience.comparison.paired_difference import PairedDifference, adjusted, paired_difference


@dataclass(frozen=True)
class GridScores:
    """The scores of all runs of a grid.

    Args:
        grid: the grid.
        values: of each run, score to values: those of each test row (N,), or one number.
    """

    grid: Grid
    values: Mapping[Run, Mapping[str, np.ndarray]]

    @property
    def compared(self) -> list[str]:
        """The methods that are compared with the baseline."""
        return [method for method in self.grid.recipes if method not in (self.grid.baseline, *self.grid.references)]

    def of_seeds(self, condition: Condition, method: str, score: str) -> np.ndarray:
        """The values of the seeds (S, N) or (S,). A score that the runs do not have is NaN."""
        missing = np.array(math.nan)
        return np.array([self.values[condition, method, seed].get(score, missing) for seed in self.grid.seeds])

    def means(self, condition: Condition, method: str) -> dict[str, list[float]]:
        """The scores of a method and their means over the test rows, one for each seed."""
        seeds = self.grid.seeds
        return {
            score: self.of_seeds(condition, method, score).reshape(len(seeds), -1).mean(1).tolist()
            for score in self.names(condition, method)
        }

    def names(self, condition: Condition, method: str) -> Iterable[str]:
        """The scores that a method has in a condition, as its run with the first seed has them."""
        return self.values[condition, method, self.grid.seeds[0]]

    def all_trained_have(self, score: str) -> bool:
        """Whether all runs of methods have a score that is finite; references may be without it."""
        return all(
            bool(np.isfinite(values.get(score, math.nan)))
            for (_, method, _), values in self.values.items()
            if method not in self.grid.references
        )

    def differences(
        self, groups: Sequence[Sequence[Condition]], score: str, over_sets: bool = False
    ) -> list[dict[str, PairedDifference]]:
        """For each group of conditions, method to its difference from the baseline.

        Intervals and p-values are adjusted over all groups and methods. References are no claims: they have no
        difference here, and neither widen intervals nor raise p-values.

        Args:
            groups: the conditions over which a difference is the mean.
            score: the score that is compared.
            over_sets: as of `paired_difference`.
        """
        found = [
            paired_difference(
                [self.of_seeds(condition, method, score) for condition in group],
                [self.of_seeds(condition, self.grid.baseline, score) for condition in group],
                over_sets, comparisons=len(groups) * len(self.compared),
            )
            for group in groups for method in self.compared
        ]  # fmt: skip
        rows = iter(adjusted(found))
        return [{method: next(rows) for method in self.compared} for _ in groups]

    def of_references(self, condition: Condition, scores: Sequence[str]) -> dict[str, dict[str, float]]:
        """Reference to score to its mean difference from the baseline, for those of the scores that it has."""
        baseline = self.grid.baseline
        return {
            name: {
                score: float(
                    (self.of_seeds(condition, name, score) - self.of_seeds(condition, baseline, score)).mean()
                )
                for score in scores
                if score in self.names(condition, name)
            }
            for name in self.grid.references
        }
